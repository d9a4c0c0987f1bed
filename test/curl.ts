import { text } from 'node:stream/consumers'

/**
 * Stands in for curl on machines without it, so that guides and the lines printed at the first start can be tested
 * there. It knows the flags that they use and refuses all others.
 */
const headers = new Headers()
let body: string | undefined
let url: string | undefined
let method = 'POST'
let showsHeaders = false

const args = process.argv.slice(2)
const nextValue = (flag: string): string => {
  const value = args.shift()
  if (value === undefined) throw new Error(`curl: ${flag} needs a value`)
  return value
}
const header = (line: string) => headers.set(line.slice(0, line.indexOf(':')), line.slice(line.indexOf(':') + 1).trim())

for (let arg = args.shift(); arg !== undefined; arg = args.shift()) {
  if (arg === '-H') header(nextValue(arg))
  else if (arg === '-d') body = nextValue(arg)
  else if (arg === '--json') {
    body = nextValue(arg)
    header('content-type: application/json')
    header('accept: application/json')
  } else if (/^-[sSN]+$/.test(arg)) continue
  else if (arg === '-i') showsHeaders = true
  else if (arg === '-X') method = nextValue(arg)
  else if (arg === '-T' && nextValue(arg) === '-') body = await text(process.stdin)
  else if (/^https?:/.test(arg) && url === undefined) url = arg
  else throw new Error(`test/curl.ts does not know "${arg}": add it, or install curl`)
}
if (url === undefined) throw new Error('curl: no URL')

const response = await fetch(url, { headers, ...(body !== undefined && { method, body }) })
if (showsHeaders) {
  process.stdout.write(`HTTP/1.1 ${response.status} ${response.statusText}\r\n`)
  for (const [name, value] of response.headers) process.stdout.write(`${name}: ${value}\r\n`)
  process.stdout.write('\r\n')
}
for await (const chunk of response.body ?? []) process.stdout.write(chunk)
