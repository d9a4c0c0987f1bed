import { printToolReference } from '../../model/tool-reference.ts'
import { type Fields, identityOf, type Kind } from './kinds.ts'

/** The records of one kind that the platform has, by the keys that a file may give them. */
export class Existing {
  readonly records: readonly Fields[]
  /** By name, where one record has it; tools also by app and name. */
  readonly byKey: ReadonlyMap<string, Fields>
  readonly #kind: Kind

  constructor(kind: Kind, records: readonly Fields[]) {
    this.#kind = kind
    this.records = records
    const byName = Map.groupBy(records, (record) => String(record[kind.by]))
    const named = [...byName].flatMap(([name, [only, another]]) => (only && !another ? [[name, only] as const] : []))
    this.byKey = new Map([
      ...named,
      ...(kind.section === 'tools' ? records.map((one) => [inApp(one), one] as const) : []),
    ])
  }

  /** The shortest key that means this record and no other. */
  keyOf(record: Fields): string {
    const name = String(record[this.#kind.by])
    return this.byKey.get(name) === record ? name : inApp(record)
  }

  /**
   * Which record each entry of a file stands for. One that is exactly meant goes before one that only has the name, whose
   * app the file then changes.
   */
  match(declared: ReadonlyMap<string, Fields>): Map<string, Fields> {
    const matched = new Map<string, Fields>()
    for (const [key, fields] of declared) {
      const record = this.byKey.get(this.#kind.section === 'tools' ? declaredInApp(this.#kind, key, fields) : key)
      if (record) matched.set(key, record)
    }
    const taken = new Set(matched.values())
    for (const key of declared.keys()) {
      const record = matched.has(key) || key.includes('/') ? undefined : this.byKey.get(key)
      if (record && !taken.has(record)) matched.set(key, record)
    }
    return matched
  }
}

const inApp = ({ app, name }: Fields): string => printToolReference({ app: String(app), name: String(name) })

const manyActions = new Set(['mcp', 'platform', 'soat'])

/** Where the platform files the tool that an entry declares. */
function declaredInApp(kind: Kind, key: string, fields: Fields): string {
  const { app = fields.app, name } = identityOf(kind, key)
  const usual = manyActions.has(String(fields.type)) ? String(name).toLowerCase() : 'tools'
  return printToolReference({ app: String(app ?? usual), name: String(name) })
}
