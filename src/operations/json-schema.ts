import { z } from 'zod'
import type { JsonObject } from '../lib/json.ts'
import type { Operation } from './operation.ts'

/** JSON Schema of what an operation takes, as a caller writes it: what has a default may be left out. */
export const inputSchema = ({ input }: Pick<Operation, 'input'>): JsonObject => print(input, 'input')

export const outputSchema = ({ output }: Pick<Operation, 'output'>): JsonObject => print(output, 'output')

function print(schema: z.ZodType, io: 'input' | 'output'): JsonObject {
  const { $schema: _, ...rest } = z.toJSONSchema(schema, { io, target: 'draft-2020-12', unrepresentable: 'any' })
  return rest as JsonObject
}
