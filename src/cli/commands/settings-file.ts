import { isDeepStrictEqual } from 'node:util'
import { applyEdits, type FormattingOptions, type JSONPath, modify } from 'jsonc-parser'
import { UsageError } from '../toolkit/command.ts'
import { parseWithComments, withoutMark } from '../toolkit/json-with-comments.ts'

type Settings = Readonly<Record<string, unknown>>

/**
 * Adds settings to the text of a settings file. Comments and formatting stay as they are. Objects are merged, a server of the
 * same name is replaced, and a list gets the entries whose ids it does not have. Returns the same text if nothing changes.
 */
export function addSettings(text: string, added: Settings, file: string): string {
  const mark = text.slice(0, text.length - withoutMark(text).length)
  let result = withoutMark(text).trim() === '' ? '{}\n' : withoutMark(text)
  const before = parseSettings(result, file)
  const formattingOptions = formattingOf(result)
  // New entries come first: appended ones would come between the last entry and the comment behind it.
  const options = { formattingOptions, getInsertionIndex: () => 0 }
  const set = (path: JSONPath, value: unknown, isArrayInsertion = false) => {
    result = applyEdits(result, modify(result, path, value, { ...options, isArrayInsertion }))
  }
  for (const [key, value] of Object.entries(added)) {
    const existing = before[key]
    if (Array.isArray(value) && Array.isArray(existing)) {
      const ids = new Set(existing.map(idOf))
      for (const one of value) if (!ids.has(idOf(one))) set([key, 0], one, true)
    } else if (isObject(value) && isObject(existing)) {
      for (const [name, one] of Object.entries(value)) {
        if (!isDeepStrictEqual(existing[name], one)) set([key, name], one)
      }
    } else if (!isDeepStrictEqual(existing, value)) set([key], value)
  }
  return mark + result
}

function parseSettings(text: string, file: string): Settings {
  let value: unknown
  try {
    value = parseWithComments(text)
  } catch (error) {
    throw new UsageError(
      `${file} is not valid JSON (${(error as Error).message}), so it was not changed. Fix it, or run the command without --write and add the settings yourself.`,
    )
  }
  if (isObject(value)) return value
  throw new UsageError(`${file} does not contain a JSON object, so it was not changed.`)
}

function formattingOf(text: string): FormattingOptions {
  const indent = /^[ \t]+/m.exec(text)?.[0] ?? '  '
  const eol = text.includes('\r\n') ? '\r\n' : '\n'
  return { insertSpaces: !indent.startsWith('\t'), tabSize: indent.startsWith('\t') ? 1 : indent.length, eol }
}

const isObject = (value: unknown): value is Settings =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

const idOf = (entry: unknown): unknown => (isObject(entry) ? entry.id : undefined)
