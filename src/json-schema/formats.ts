import type { Ajv, Format } from 'ajv'
import formats from 'ajv-formats'

/** Formats without a length limit. */
const long = new Set(['byte', 'binary', 'password'])
/** The limit for all other formats: longer than any valid value, and short enough for their regular expressions. */
const longest = 8192

/** Adds the formats of JSON Schema and OpenAPI, in versions that are fast for any text. */
export function addFormats(ajv: Ajv): void {
  formats.default(ajv)
  for (const [name, format] of Object.entries(ajv.formats)) {
    if (format && !long.has(name)) ajv.addFormat(name, shortened(format))
  }
  ajv.addFormat('byte', (text: string) => text.length % 4 === 0 && /^[A-Za-z0-9+/]*={0,2}$/.test(text))
  // Ajv's own `url` is quadratic in the length of the text.
  ajv.addFormat(
    'url',
    (text: string) => text.length <= longest && /^(?:https?|ftp):\/\/\S+$/i.test(text) && URL.canParse(text),
  )
}

function shortened(format: Format): Format {
  if (format === true) return true
  if (typeof format === 'object' && 'validate' in format) {
    if (format.type === 'number') return format
    return { ...format, validate: textTest(format.validate as TextTest) } as Format
  }
  return textTest(format as TextTest)
}

type TextTest = string | RegExp | ((text: string) => boolean)

function textTest(test: TextTest): (text: string) => boolean {
  if (typeof test === 'function') return (text) => text.length <= longest && test(text)
  const expression = new RegExp(test)
  return (text) => text.length <= longest && expression.test(text)
}
