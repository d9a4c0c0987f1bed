/** A head with more headers is not plain: it is remembered for as long as its connection lasts, and each takes many times its length. */
export const mostHeaders = 64
/** So much is held of what is sent before anyone has looked at who sends it. */
const longestBody = 256 * 1024

/** A name or an address, and a port: it becomes part of addresses that are given out. */
const plainHost = /^([a-z\d._-]+|\[[a-f\d:]+\])(:([1-5]?\d{1,4}|6[0-4]\d{3}))?$/

/** Some clients say what JSON is in any case. */
const plainType = /^application\/json(; ?charset=utf-8)?$/i

const unusual = ['transfer-encoding', 'content-encoding', 'expect', 'upgrade', 'proxy-connection', 'trailer', 'te']

export const isPlainPath = (path: string | undefined): path is string => path !== undefined && /^\/[\w/.-]*$/.test(path)

/** Whether they are those of a POST of JSON, of a length that is known and not too large, with nothing unusual about it. */
export const isPlain = (headers: Readonly<Record<string, string | undefined>>): boolean =>
  plainHost.test(headers.host ?? '') &&
  URL.canParse(`http://${headers.host}`) &&
  plainType.test(headers['content-type'] ?? '') &&
  /^\d{1,6}$/.test(headers['content-length'] ?? '') &&
  Number(headers['content-length']) <= longestBody &&
  /^keep-alive$/i.test(headers.connection ?? 'keep-alive') &&
  !unusual.some((name) => name in headers)
