import type { JsonObject } from '../../lib/json.ts'

/** Where a parameter goes in the request, and how its value is written. */
export interface Parameter {
  readonly in: 'path' | 'query' | 'header' | 'cookie'
  /** The name in the request. */
  readonly name: string
  /** The name in the input. */
  readonly property: string
  readonly style: string
  readonly explode: boolean
  readonly allowReserved?: true
  /** Written as JSON. */
  readonly json?: true
}

/** How a field of a form is written. */
export interface FieldEncoding {
  readonly style?: string
  readonly explode?: boolean
  readonly contentType?: string
}

export interface RequestBody {
  readonly mediaType: string
  readonly kind: 'json' | 'form' | 'multipart' | 'text' | 'binary'
  /** The property of the input that is the whole body. Otherwise each property that is not a parameter is a field of it. */
  readonly property?: string
  /** Names of fields in the request, where they differ from the names in the input. */
  readonly renamed?: Readonly<Record<string, string>>
  readonly encoding?: Readonly<Record<string, FieldEncoding>>
  readonly required: boolean
}

/** Alternatives, of which one has to be met: the scopes by the name of each security scheme. */
export type SecurityRequirements = readonly Readonly<Record<string, readonly string[]>>[]

/** Parameters that select a page of a list, by their names in the input. */
export interface Paging {
  readonly page?: string
  readonly offset?: string
  readonly cursor?: string
  readonly limit?: string
}

/** An operation of a document: what a model sees of it, and how a request is made. */
export interface ApiOperation {
  /** The name of the action; stable as long as method and path are the same. */
  readonly name: string
  readonly method: string
  readonly path: string
  readonly tags: readonly string[]
  readonly title?: string
  readonly description: string
  readonly deprecated?: true
  /** The input, with references to the definitions of the document. */
  readonly schema: JsonObject
  /** The reduction that makes it small enough, and the sizes after and before. */
  readonly step: number
  readonly size: number
  readonly wholeSize: number
  /** The output as far as it is known. For people only: it is never enforced. */
  readonly output?: JsonObject
  readonly parameters: readonly Parameter[]
  readonly body?: RequestBody
  /** The media types of successful responses. */
  readonly accept?: string
  /** The property of the input that selects fields of the result. */
  readonly select?: string
  readonly paging?: Paging
  /** If it differs from the server of the document. */
  readonly server?: ApiServer
  readonly security: SecurityRequirements
}

/** Identifies an operation within its document. */
export const keyOf = ({ method, path }: Pick<ApiOperation, 'method' | 'path'>): string => `${method} ${path}`

/** How credentials are sent, from `components.securitySchemes`. */
export interface SecurityScheme {
  readonly kind: 'api_key' | 'bearer' | 'basic' | 'oauth2' | 'unsupported'
  /** For an API key: where it goes, and its name there. */
  readonly in?: 'header' | 'query' | 'cookie'
  readonly name?: string
  readonly description?: string
  /** For OAuth 2.0 and OpenID Connect. */
  readonly authorization_url?: string
  readonly token_url?: string
  readonly discovery_url?: string
  readonly scopes?: readonly string[]
}

export interface ServerVariable {
  readonly default: string
  readonly enum?: readonly string[]
}

export interface ApiServer {
  readonly url: string
  readonly variables: Readonly<Record<string, ServerVariable>>
}

/** An operation that cannot be called, and why. */
export interface LeftOut {
  readonly operation: string
  readonly reason: string
}

/** A document in the form that calls need. */
export interface ApiSnapshot {
  readonly title: string
  readonly description: string
  readonly version: string
  readonly server?: ApiServer
  readonly security: Readonly<Record<string, SecurityScheme>>
  readonly operations: readonly ApiOperation[]
  readonly defs: ReadonlyMap<string, JsonObject>
  readonly leftOut: readonly LeftOut[]
}

/** The operation cannot be called. The message says why. */
export class NotCallable extends Error {}
