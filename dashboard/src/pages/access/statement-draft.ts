import type { PolicyDocumentInput } from '../../api.ts'

export type PolicyDocument = PolicyDocumentInput

/** A statement as the form edits it: lists where the document may have a single value. */
export interface StatementDraft {
  readonly effect: 'Allow' | 'Deny'
  readonly action: readonly string[]
  readonly resource: readonly string[]
  readonly condition: readonly ConditionDraft[]
}

export const operators = ['StringEquals', 'StringNotEquals', 'StringLike'] as const

export interface ConditionDraft {
  readonly operator: (typeof operators)[number]
  /** `qm:ResourceType` or `qm:ResourceTag/<key>`. */
  readonly key: string
  readonly values: readonly string[]
}

export const newStatement: StatementDraft = { effect: 'Allow', action: [], resource: ['*'], condition: [] }

const isRecord = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

const isText = (value: unknown): value is string => typeof value === 'string'

/** A string or a list of strings. */
const textsOf = (value: unknown): readonly string[] | undefined =>
  isText(value) ? [value] : Array.isArray(value) && value.every(isText) ? value : undefined

/** The statements of a document. Undefined if the form cannot represent all of it. */
export function statementsOf(document: unknown): readonly StatementDraft[] | undefined {
  if (!isRecord(document) || !hasOnly(document, ['statement']) || !Array.isArray(document.statement)) return undefined
  const drafts = document.statement.map(statementOf)
  return drafts.every((draft) => draft !== undefined) ? drafts : undefined
}

function statementOf(given: unknown): StatementDraft | undefined {
  if (!isRecord(given) || !hasOnly(given, ['effect', 'action', 'resource', 'condition'])) return undefined
  const { effect, action, resource = ['*'], condition = {} } = given
  const [actions, resources, conditions] = [textsOf(action), textsOf(resource), conditionsOf(condition)]
  if ((effect !== 'Allow' && effect !== 'Deny') || !actions || !resources || !conditions) return undefined
  return { effect, action: actions, resource: resources, condition: conditions }
}

function conditionsOf(condition: unknown): readonly ConditionDraft[] | undefined {
  if (!isRecord(condition) || !hasOnly(condition, operators)) return undefined
  const drafts = operators.flatMap((operator) => {
    const comparison = condition[operator] ?? {}
    if (!isRecord(comparison)) return [undefined]
    return Object.entries(comparison).map(([key, value]) => {
      const values = textsOf(value)
      return values && { operator, key, values }
    })
  })
  return drafts.every((draft) => draft !== undefined) ? drafts : undefined
}

const hasOnly = (record: Record<string, unknown>, names: readonly string[]) =>
  Object.keys(record).every((name) => names.includes(name))

export const documentOf = (statements: readonly StatementDraft[]): PolicyDocument => ({
  statement: statements.map(({ effect, action, resource, condition }) => ({
    effect,
    action: [...action],
    resource: [...resource],
    ...(condition.length > 0 && { condition: comparisonsOf(condition) }),
  })),
})

function comparisonsOf(conditions: readonly ConditionDraft[]) {
  const byOperator: Partial<Record<ConditionDraft['operator'], Record<string, string | string[]>>> = {}
  for (const { operator, key, values } of conditions) {
    const [first = '', ...others] = values
    byOperator[operator] = { ...byOperator[operator], [key]: others.length > 0 ? [...values] : first }
  }
  return byOperator
}
