import { z } from 'zod'
import type { JsonObject } from '../lib/json.ts'
import { formHints } from '../tools/form-hints.ts'
import type { Operation } from './operation.ts'

type Override = NonNullable<NonNullable<Parameters<typeof z.toJSONSchema>[1]>['override']>

/** The JSON Schema of an operation's input, in which fields with a default are optional. */
export const inputSchema = ({ input }: Pick<Operation, 'input'>): JsonObject => print(input, 'input')

export const outputSchema = ({ output }: Pick<Operation, 'output'>): JsonObject => print(output, 'output')

/** The JSON Schema for a form, including its hints. */
export const formSchema = (schema: z.ZodType): JsonObject =>
  print(schema, 'input', ({ zodSchema, jsonSchema }) => {
    const hints = formHints.get(zodSchema as unknown as z.ZodType)
    if (hints) Object.assign(jsonSchema, { 'x-form': hints })
  })

export function print(schema: z.ZodType, io: 'input' | 'output', override?: Override): JsonObject {
  const { $schema: _, ...rest } = z.toJSONSchema(schema, {
    io,
    target: 'draft-2020-12',
    unrepresentable: 'any',
    ...(override && { override }),
  })
  return rest as JsonObject
}
