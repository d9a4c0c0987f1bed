import type { z } from 'zod'
import type { Fault } from './errors.ts'

const maxReported = 100

/** Converts a Zod error to faults in the platform's wording. Reports the first hundred. */
export function faultsOf(error: z.ZodError): Fault[] {
  const faults = error.issues.slice(0, maxReported + 1).flatMap(toFaults)
  if (faults.length <= maxReported) return faults
  return [...faults.slice(0, maxReported), { path: '', message: 'and many more' }]
}

function toFaults(issue: z.core.$ZodIssue): Fault[] {
  const path = issue.path.reduce<string>(
    (before, part) =>
      typeof part === 'number' ? `${before}[${part}]` : before === '' ? String(part) : `${before}.${String(part)}`,
    '',
  )
  switch (issue.code) {
    case 'unrecognized_keys':
      return issue.keys
        .slice(0, maxReported + 1)
        .map((key) => ({ path: path === '' ? key : `${path}.${key}`, message: 'is not a known field' }))
    case 'invalid_type':
      return [
        {
          path,
          message:
            issue.input === undefined && !/received/.test(issue.message) ? 'is missing' : rewritten(issue.message),
        },
      ]
    case 'invalid_key':
    case 'invalid_element':
      return issue.issues
        .slice(0, maxReported + 1)
        .flatMap((inner) => toFaults({ ...inner, path: [...issue.path, ...inner.path] }))
    default:
      return [{ path, message: rewritten(issue.message) }]
  }
}

/** Rewrites Zod's messages in the platform's wording. */
const rewritten = (message: string) =>
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
