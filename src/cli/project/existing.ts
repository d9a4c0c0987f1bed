import { printToolReference } from '../../model/tool-reference.ts'
import { builtIn } from '../../operations/index.ts'
import { type Fields, identityOf, type Kind } from './kinds.ts'

/** The existing records of one kind, by the keys that a project file may use. */
export class Existing {
  readonly records: readonly Fields[]
  /** By name if it is unique; tools also by app and name. */
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

  /** The shortest unique key of a record. */
  keyOf(record: Fields): string {
    const name = String(record[this.#kind.by])
    return this.byKey.get(name) === record ? name : inApp(record)
  }

  /**
   * The record of each entry of a file. An exact match takes precedence over a match by name only. After the latter, applying
   * the file changes the app.
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

/** The app and name that the platform gives to the tool of an entry. */
function declaredInApp(kind: Kind, key: string, fields: Fields): string {
  const { app = fields.app, name } = identityOf(kind, key)
  const usual = builtIn.types.find(String(fields.type))?.many ? String(name).toLowerCase() : 'tools'
  return printToolReference({ app: String(app ?? usual), name: String(name) })
}
