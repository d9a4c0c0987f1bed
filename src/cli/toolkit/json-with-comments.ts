import { type ParseError, parse, printParseErrorCode } from 'jsonc-parser'

/** Parses JSON with comments and trailing commas, as editors store their settings. */
export function parseWithComments(text: string): unknown {
  const errors: ParseError[] = []
  const content = withoutMark(text)
  const value: unknown = parse(content, errors, { allowTrailingComma: true })
  const [first] = errors
  if (!first) return value
  const line = content.slice(0, first.offset).split('\n').length
  throw new SyntaxError(`${toWords(printParseErrorCode(first.error))} in line ${line}`)
}

/** Some editors on Windows start files with a byte order mark. */
export const withoutMark = (text: string): string => text.replace(/^\uFEFF/, '')

/** `PropertyNameExpected` as `property name expected`. */
const toWords = (code: string): string => code.replaceAll(/\B[A-Z]/g, ' $&').toLowerCase()
