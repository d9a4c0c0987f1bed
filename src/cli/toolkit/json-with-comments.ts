/** Reads JSON as editors keep it: with comments, and with a comma after the last of a list. */
export function parseWithComments(text: string): unknown {
  const content = text.replace(/^\uFEFF/, '')
  try {
    return JSON.parse(content)
  } catch {
    return JSON.parse(withoutTrailingCommas(withoutComments(content)))
  }
}

/** Strings are passed over whole: what is in them is no comment and no comma. */
const string = '"[^"\\\\]*(?:\\\\.[^"\\\\]*)*"'
const comments = new RegExp(`${string}|//[^\\n\\r]*|/\\*[\\s\\S]*?\\*/`, 'g')
const commas = new RegExp(`${string}|,(?=\\s*[}\\]])`, 'g')

/** Blanks stand for what is gone, so that a fault is told where it is in the file. */
const withoutComments = (text: string) =>
  text.replace(comments, (found) => (found.startsWith('"') ? found : found.replaceAll(/[^\n\r]/g, ' ')))

const withoutTrailingCommas = (text: string) => text.replace(commas, (found) => (found === ',' ? ' ' : found))
