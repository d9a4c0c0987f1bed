import type { z } from 'zod'
import type { Fault } from './errors.ts'

const mostReported = 100

/** What is wrong with an input, each with its place, in words of ours: the first hundred, and how many more there are. */
export function faultsOf(error: z.ZodError): Fault[] {
  const faults = error.issues.slice(0, mostReported + 1).flatMap(toFaults)
  if (faults.length <= mostReported) return faults
  return [...faults.slice(0, mostReported), { path: '', message: 'and many more' }]
}

function toFaults(issue: z.core.$ZodIssue): Fault[] {
  const path = issue.path.reduce<string>(
    (words, part) =>
      typeof part === 'number' ? `${words}[${part}]` : words === '' ? String(part) : `${words}.${String(part)}`,
    '',
  )
  switch (issue.code) {
    case 'unrecognized_keys':
      return issue.keys
        .slice(0, mostReported + 1)
        .map((key) => ({ path: path === '' ? key : `${path}.${key}`, message: 'is not a known field' }))
    case 'invalid_type':
      return [
        {
          path,
          message: issue.input === undefined && !/received/.test(issue.message) ? 'is missing' : words(issue.message),
        },
      ]
    case 'invalid_key':
    case 'invalid_element':
      return issue.issues
        .slice(0, mostReported + 1)
        .flatMap((inner) => toFaults({ ...inner, path: [...issue.path, ...inner.path] }))
    default:
      return [{ path, message: words(issue.message) }]
  }
}

/** Zod's sentences, in the tone of ours. */
const words = (message: string) =>
  message
    .replace(/expected record\b/, 'expected object')
    .replace(/^Invalid input: expected (\w+), received undefined$/, 'is missing')
    .replace(/^Invalid ISO datetime$/, 'must be a time such as 2026-01-31T09:30:00Z')
    .replace(/^Too small: expected array to have >=1 items$/, 'must have at least one item')
    .replace(/^Invalid input: expected (.+), received (.+)$/, 'must be of type $1, not $2')
    .replace(
      /^Invalid option: expected one of (.+)$/,
      (_, options: string) => `must be one of ${options.replaceAll('|', ', ')}`,
    )
    .replace(/^(Too (?:small|big|long)|Invalid|Unrecognized)\b/, (start) => start.toLowerCase())
