import { harmless, paint } from './terminal.ts'

const context = 2

/** The lines that differ between two texts, with a few around them. */
export function difference(before: string, after: string): string {
  const old = before === '' ? [] : harmless(before).trimEnd().split('\n')
  const now = harmless(after).trimEnd().split('\n')
  let start = 0
  while (start < old.length && start < now.length && old[start] === now[start]) start++
  let end = 0
  while (end < old.length - start && end < now.length - start && old.at(-1 - end) === now.at(-1 - end)) end++
  const last = now.length - end
  return [
    ...now.slice(Math.max(0, start - context), start).map((line) => `  ${line}`),
    ...old.slice(start, old.length - end).map((line) => paint('red', `- ${line}`)),
    ...now.slice(start, last).map((line) => paint('green', `+ ${line}`)),
    ...now.slice(last, last + context).map((line) => `  ${line}`),
  ].join('\n')
}
