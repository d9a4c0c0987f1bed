/** Encodes one server-sent event. */
export function encodeEvent(
  data: string,
  { name, id }: { name?: string | undefined; id?: string | undefined } = {},
): string {
  const head = `${id === undefined ? '' : `id: ${id}\n`}${name === undefined ? '' : `event: ${name}\n`}`
  // JSON has no line breaks. Each line of any other text gets its own data field.
  return `${head}data: ${data.includes('\n') ? data.replaceAll('\n', '\ndata: ') : data}\n\n`
}
