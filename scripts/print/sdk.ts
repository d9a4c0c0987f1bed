import { catalogue } from '../../src/model/errors.ts'
import { outputSchema } from '../../src/operations/json-schema.ts'
import type { Operation } from '../../src/operations/operation.ts'
import { methodOf, moduleOf } from '../../src/surfaces/rest/openapi.ts'
import { type Field, fieldsOf } from './fields.ts'
import { comment, literal, member, typeOf } from './typescript.ts'

/** src/sdk/operations.ts: what the client does and what its type is computed from. */
export function printSdk(operations: readonly Operation[]): string {
  const modules = [...Map.groupBy(operations, (operation) => camel(moduleOf(operation)))]
  return `// Printed from src/operations by "npm run generate". Change an operation there, and print again.
import type { Bytes, ServerEvent } from './streams.ts'

export const routes = {
${modules.map(([name, members]) => `  ${name}: {\n${members.map(route).join('')}  },\n`).join('')}} as const

/** The methods that send or get something other than JSON. */
export const streams = {
${operations.map(stream).join('')}} as const

/** What goes into each method and what comes out of it. */
export interface Operations {
${modules.map(([name, members]) => `  ${name}: {\n${members.map(describe).join('')}  }\n`).join('')}}

/** Every error that the platform answers with. */
export type PlatformErrorCode =
${Object.keys(catalogue)
  .map((code) => `  | ${literal(code)}\n`)
  .join('')}`
}

/** `api-keys` as `apiKeys`. */
const camel = (name: string): string => name.replaceAll(/-(\w)/g, (_, letter: string) => letter.toUpperCase())

const route = (operation: Operation) => `    ${methodOf(operation)}: ${literal(operation.route)},\n`

const stream = (operation: Operation) => {
  const { accepts, answers } = operation
  return accepts || answers ? `  ${methodOf(operation)}: ${literal({ accepts, answers })},\n` : ''
}

function describe(operation: Operation): string {
  const indent = '      '
  const fields = fieldsOf(operation)
  const parts = (['path', 'query', 'body'] as const).map((where) => part(where, fields, indent))
  const body = operation.accepts ? `${indent}body: Bytes\n` : ''
  return `${comment(operation.summary, '    ')}    ${methodOf(operation)}: {
${parts.join('')}${body}${indent}answer: ${answer(operation, indent)}
    }
`
}

function part(where: Field['where'], fields: readonly Field[], indent: string): string {
  const own = fields.filter((field) => field.where === where)
  if (own.length === 0) return ''
  const optional = own.some(({ required }) => required) ? '' : '?'
  return `${indent}${where}${optional}: {\n${own.map((field) => member(field, `${indent}  `)).join('')}${indent}}\n`
}

function answer(operation: Operation, indent: string): string {
  if (operation.answers === 'bytes') return 'ReadableStream<Uint8Array>'
  const type = typeOf(outputSchema(operation), indent)
  return operation.answers === 'events' ? `AsyncIterable<ServerEvent<${type}>>` : type
}
