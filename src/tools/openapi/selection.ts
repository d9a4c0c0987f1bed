import { z } from 'zod'
import { orDidYouMean } from '../../lib/nearest.ts'
import type { Fault } from '../../model/errors.ts'
import { Level } from '../../model/tool.ts'
import type { Api } from './api.ts'
import type { ApiOperation } from './operation.ts'

const short = (about: string) => z.string().min(1).max(1000).optional().describe(about)

/** Selects operations. All fields that are given have to match. */
export const OperationFilter = z.strictObject({
  tag: short('A tag of the document'),
  path: short('A path of the document; * stands for any text'),
  method: short('An HTTP method'),
  operation: short('The name of an operation as the import lists it'),
})
export type OperationFilter = z.infer<typeof OperationFilter>

/** Changes of one action over what the document says. */
export const ActionOverride = z.strictObject({
  name: z
    .string()
    .regex(/^[A-Za-z0-9_-]{1,64}$/, 'must be 1 to 64 letters, digits, "_" or "-"')
    .optional()
    .describe('The name of the action'),
  description: z.string().max(1024).optional().describe('The description that models see'),
  level: Level.optional().describe('The sensitivity of the action'),
})
export type ActionOverride = z.infer<typeof ActionOverride>

export interface Selection {
  readonly include?: readonly OperationFilter[] | undefined
  readonly exclude?: readonly OperationFilter[] | undefined
  readonly actions?: Readonly<Record<string, ActionOverride>> | undefined
}

/** The operations that a tool offers. Without `include`, all of them. */
export function selected(operations: readonly ApiOperation[], { include, exclude = [] }: Selection): ApiOperation[] {
  const matchersIn = include?.map(matcherOf)
  const matchersOut = exclude.map(matcherOf)
  return operations.filter(
    (one) => (matchersIn?.some((matches) => matches(one)) ?? true) && !matchersOut.some((matches) => matches(one)),
  )
}

function matcherOf({ tag, path, method, operation }: OperationFilter): (one: ApiOperation) => boolean {
  const pattern = path === undefined ? undefined : patternOf(path)
  return (one) =>
    (tag === undefined || one.tags.some((name) => name.toLowerCase() === tag.toLowerCase())) &&
    (pattern === undefined || pattern.test(one.path)) &&
    (method === undefined || one.method === method.toUpperCase()) &&
    (operation === undefined || one.name === operation)
}

const patternOf = (path: string) =>
  new RegExp(
    `^${path
      .split(/\*+/)
      .map((part) => part.replaceAll(/[\\^$.*+?()[\]{}|]/g, '\\$&'))
      .join('.*')}$`,
  )

/** The name of the action of an operation. */
export const actionName = ({ name }: ApiOperation, { actions = {} }: Selection): string =>
  (Object.hasOwn(actions, name) ? actions[name]?.name : undefined) ?? name

/** The name of the operation behind an action. */
export const operationName = (action: string, { actions = {} }: Selection): string =>
  Object.entries(actions).find(([, { name }]) => name === action)?.[0] ?? action

/** What is wrong with a selection: it selects nothing, or it names operations that the document does not have. */
export function checkSelection(api: Api, selection: Selection): Fault[] {
  const { operations } = api.snapshot
  const chosen = selected(operations, selection)
  const known = operations.map(({ name }) => name)
  const unknown = Object.keys(selection.actions ?? {}).flatMap((name): Fault[] =>
    api.find(name)
      ? []
      : [
          {
            path: `openapi.actions.${name}`,
            message: `is not an operation of the document${orDidYouMean(name, known)}`,
          },
        ],
  )
  const missing = (['include', 'exclude'] as const).flatMap((list) =>
    (selection[list] ?? []).flatMap(({ operation }, index): Fault[] =>
      operation === undefined || api.find(operation)
        ? []
        : [
            {
              path: `openapi.${list}[${index}].operation`,
              message: `"${operation}" is not an operation of the document${orDidYouMean(operation, known)}`,
            },
          ],
    ),
  )
  const names = new Map<string, string>()
  const taken = chosen.flatMap((one): Fault[] => {
    const name = actionName(one, selection)
    const other = names.get(name)
    names.set(name, one.name)
    return other === undefined
      ? []
      : [{ path: `openapi.actions.${one.name}.name`, message: `"${name}" is also the name of ${other}` }]
  })
  if (chosen.length > 0 || operations.length === 0) return [...unknown, ...missing, ...taken]
  return [
    ...unknown,
    ...missing,
    { path: 'openapi.include', message: `selects none of the ${operations.length} operations` },
  ]
}
