import type { Json, JsonObject } from '../../lib/json.ts'
import { propertyName } from './names.ts'

/** Collects the properties of an input schema. Every property gets a name that is unique and valid everywhere. */
export class InputFields {
  readonly #properties = new Map<string, JsonObject>()
  readonly #required: string[] = []
  additional: Json = false

  /** `where` is put before the name if another field has it. Returns the name of the property. */
  add(name: string, schema: JsonObject, where: string, required: boolean): string {
    const own = propertyName(name)
    let property = own
    for (let count = 1; this.#properties.has(property); count++) {
      property = propertyName(`${where}_${own}${count > 1 ? `_${count}` : ''}`)
    }
    this.#properties.set(property, schema)
    if (required) this.#required.push(property)
    return property
  }

  get schema(): JsonObject {
    return {
      type: 'object',
      properties: Object.fromEntries(this.#properties),
      ...(this.#required.length > 0 && { required: this.#required }),
      additionalProperties: this.additional,
    }
  }
}
