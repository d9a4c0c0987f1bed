import type { Reading } from '../../src/cli/toolkit/command.ts'
import type { Operation } from '../../src/operations/operation.ts'
import { moduleOf } from '../../src/surfaces/rest/openapi.ts'
import { choicesOf, type Field, fieldsOf, innerRowsOf, type Row, rowOf, type Schema } from './fields.ts'
import { generatedNote } from './sdk.ts'
import { literal } from './typescript.ts'

/** Prints src/cli/generated.ts: the commands, for parsing flags and for help. */
export const printCommands = (operations: readonly Operation[]): string =>
  `${generatedNote}
import type { Command } from './toolkit/command.ts'

export const commands: readonly Command[] = [
${operations.map(command).join('')}]
`

function command(operation: Operation): string {
  const { name, route, permission, summary, accepts, answers, example } = operation
  const head = { name, module: moduleOf(operation), route, permission, summary, accepts, answers, example }
  const lines = Object.entries(head).flatMap(([key, value]) =>
    value === undefined ? [] : [`    ${key}: ${literal(value)},\n`],
  )
  return `  {\n${lines.join('')}    fields: [\n${fieldsOf(operation).map(field).join('')}    ],\n  },\n`
}

function field(one: Field): string {
  const inner = innerRowsOf(one)
  const described = { ...compact(rowOf(one)), where: one.where, reads: readingOf(one.schema) }
  if (inner.length === 0) return `      ${literal(described)},\n`
  const parts = inner.map((row) => `          ${literal(compact(row))},\n`).join('')
  return `      {\n        ...${literal(described)},\n        parts: [\n${parts}        ],\n      },\n`
}

/** Omits empty fields. */
const compact = ({ required, default: fallback, ...row }: Row) => ({
  ...row,
  description: row.description || undefined,
  ...(required && { required }),
  ...(fallback !== '' && { default: fallback }),
})

/** How to parse the value of a flag, from the type of its field, so that a name such as `123` stays text. */
function readingOf(schema: Schema): Reading {
  const choices = choicesOf(schema)
  const types = choices.map(({ type, enum: options }) => type ?? (options ? 'string' : 'any'))
  if (types.every((type) => type === 'string')) return 'text'
  if (types.every((type) => type === 'string' || type === 'null')) return 'text or null'
  if (types.includes('boolean')) return 'flag'
  if (choices.some(({ type, items }) => type === 'array' && isText(items as Schema))) return 'list'
  return types.includes('string') || types.includes('any') ? 'JSON or text' : 'JSON'
}

const isText = (schema: Schema): boolean =>
  choicesOf(schema).every(({ type, enum: options, const: only }) => {
    const values = [options ?? only].flat()
    return type === 'string' || values.every((one) => typeof one === 'string')
  })
