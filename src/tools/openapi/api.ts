import type { JsonObject } from '../../lib/json.ts'
import { type ApiOperation, type ApiSnapshot, keyOf } from './operation.ts'
import { SchemaBuilder } from './reduce.ts'

/** The largest schema that is shown on request. */
const largestShown = 256 * 1024

/** An imported document, ready to be offered and called. */
export class Api {
  readonly snapshot: ApiSnapshot
  readonly #byName: ReadonlyMap<string, ApiOperation>
  readonly #builder: SchemaBuilder

  constructor(snapshot: ApiSnapshot) {
    this.snapshot = snapshot
    this.#byName = new Map(snapshot.operations.map((one) => [one.name, one]))
    this.#builder = new SchemaBuilder((name) => snapshot.defs.get(name))
  }

  find(name: string): ApiOperation | undefined {
    return this.#byName.get(name)
  }

  /** The names of all operations, by method and path. */
  get names(): Map<string, string> {
    return new Map(this.snapshot.operations.map((one) => [keyOf(one), one.name]))
  }

  /** The input schema, reduced if it is large. Its definitions are shared with other schemas: never change it. */
  schemaOf({ schema, step }: ApiOperation): JsonObject {
    return this.#builder.build(schema, step)
  }

  /** The schema without the reduction, up to a size that is still useful. */
  wholeSchemaOf({ schema }: ApiOperation): JsonObject {
    return this.#builder.build(schema, this.#builder.fit(schema, largestShown).step)
  }
}
