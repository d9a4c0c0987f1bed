import { z } from 'zod'
import { Id, Text, Timestamp } from './page.ts'

/** `*`, `tools:*` or `tools:CreateTool`. */
const ActionPattern = z
  .string()
  .regex(
    /^(\*|[a-z][a-z-]*:(\*|[A-Z][A-Za-z]*))$/,
    'must be "*", "module:*" or "module:Operation", as in "tools:CreateTool"',
  )

/** `*` or `qm:<project>:<kind>:<id>`; each part may be `*`, and a path may end in `/*`. */
const ResourcePattern = z
  .string()
  .max(1000)
  .regex(
    /^(\*|(qm|soat):(\*|[^:*/]+)(:(\*|[a-z-]+)(:(\*|[^:*/]+|\/([^*]*\/)?\*|\/[^*]+))?)?)$/,
    'must be "*" or "qm:<project>:<kind>:<id>", where each part may be "*" and a path may end in "/*"',
  )

/** A list, or the only item of it. */
const oneOrMany = (item: z.ZodType<string, string>) =>
  z.union([z.array(item).min(1).max(200), item.transform((only) => [only])])

const Comparison = z.record(
  z.string().regex(/^(qm|soat):(ResourceType|ResourceTag\/.+)$/, 'must be "qm:ResourceType" or "qm:ResourceTag/<key>"'),
  z.union([z.string(), z.array(z.string()).min(1)]),
)

export const Condition = z.strictObject({
  StringEquals: Comparison.optional(),
  StringNotEquals: Comparison.optional(),
  StringLike: Comparison.optional(),
})
export type Condition = z.infer<typeof Condition>

export const Statement = z.strictObject({
  effect: z.enum(['Allow', 'Deny']),
  action: oneOrMany(ActionPattern),
  resource: oneOrMany(ResourcePattern).default(['*']),
  condition: Condition.optional(),
})
export type Statement = z.infer<typeof Statement>

/** Characters of JSON. Every request is judged by all statements of its policies. */
const longestDocument = 64 * 1024
/** Comparing one character of a pattern may go through the whole of a tag. */
const longestPatterns = 4096

const patternsIn = (statements: readonly Statement[]): number =>
  statements
    .flatMap(({ condition }) => Object.values(condition?.StringLike ?? {}).flat())
    .reduce((sum, pattern) => sum + pattern.length, 0)

export const PolicyDocument = z
  .strictObject({ statement: z.array(Statement).min(1).max(100) })
  .refine((document) => JSON.stringify(document).length <= longestDocument, {
    error: `is longer than ${longestDocument} characters of JSON: split it into several policies`,
  })
  .refine(({ statement }) => patternsIn(statement) <= longestPatterns, {
    error: `has more than ${longestPatterns} characters of StringLike patterns`,
  })
export type PolicyDocument = z.infer<typeof PolicyDocument>

/** What its holders may do. One without a project can be given to the keys of every project. */
export const AccessPolicy = z.object({
  id: z.string(),
  project_id: z.string().nullable(),
  name: z.string(),
  description: z.string().nullable(),
  document: PolicyDocument,
  created_at: Timestamp,
  updated_at: Timestamp,
})
export type AccessPolicy = z.infer<typeof AccessPolicy>

export const AccessPolicyFields = {
  name: Text.trim().min(1).max(200),
  description: Text.max(2000).nullable(),
  document: PolicyDocument,
}
export const AccessPolicyIds = z.array(Id).max(50)
