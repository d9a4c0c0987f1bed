import { z } from 'zod'
import { Id, Text, Timestamp } from './page.ts'

/** `*`, `tools:*` or `tools:CreateTool`. */
const ActionPattern = z
  .string()
  .regex(
    /^(\*|[a-z][a-z-]*:(\*|[A-Z][A-Za-z]*))$/,
    'must be "*", "module:*" or "module:Operation", such as "tools:CreateTool"',
  )

/** `*` or `qm:<project>:<kind>:<id>`; each part may be `*`, and a path may end in `/*`. */
const ResourcePattern = z
  .string()
  .max(1000)
  .regex(
    /^(\*|(qm|soat):(\*|[^:*/]+)(:(\*|[a-z-]+)(:(\*|[^:*/]+|\/([^*]*\/)?\*|\/[^*]+))?)?)$/,
    'must be "*" or "qm:<project>:<kind>:<id>". Each part can be "*", and a path can end in "/*"',
  )

/** A list, or its only item. */
const oneOrMany = (item: z.ZodType<string, string>) =>
  z.union([z.array(item).min(1).max(200), item.transform((only) => [only]).pipe(z.array(z.string()))])

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

/** In characters of JSON. Limited because every request evaluates all statements of its policies. */
const longestDocument = 64 * 1024
/** The total length of all patterns. Limited because comparing one character of a pattern may scan a whole tag. */
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

/** The permissions of keys. A policy without a project can be assigned to keys of every project. */
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
