import type { Ajv, Format } from 'ajv'
import formats from 'ajv-formats'

/** The formats that may be as long as the text that holds them. */
const long = new Set(['byte', 'binary', 'password'])
/** Longer than any of the others is, and short enough for all of their regular expressions. */
const longest = 8192

/** The formats of JSON Schema and OpenAPI, none of which takes long on any text. */
export function addFormats(ajv: Ajv): void {
  formats.default(ajv)
  for (const [name, format] of Object.entries(ajv.formats)) {
    if (format && !long.has(name)) ajv.addFormat(name, shortened(format))
  }
  ajv.addFormat('byte', (text: string) => text.length % 4 === 0 && /^[A-Za-z0-9+/]*={0,2}$/.test(text))
  // The one that comes with Ajv takes the square of the text.
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
