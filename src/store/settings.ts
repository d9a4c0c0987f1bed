import type { Engine } from '../db/engine.ts'

/** Small facts about this installation, such as whether it has been set up. */
export class Settings {
  readonly #engine: Pick<Engine, 'db'>

  constructor(engine: Pick<Engine, 'db'>) {
    this.#engine = engine
  }

  async find(name: string): Promise<string | undefined> {
    const row = await this.#engine.db.selectFrom('settings').select('value').where('name', '=', name).executeTakeFirst()
    return row?.value
  }

  /** Returns a setting, and creates it first if needed. Concurrent callers get the same value. */
  async establish(name: string, make: () => string): Promise<string> {
    const known = await this.find(name)
    if (known !== undefined) return known
    await this.claim(name, make())
    return (await this.find(name)) as string
  }

  /** False if the value is not `before` any more. */
  async replace(name: string, before: string, value: string): Promise<boolean> {
    const result = await this.#engine.db
      .updateTable('settings')
      .set({ value })
      .where('name', '=', name)
      .where('value', '=', before)
      .executeTakeFirst()
    return result.numUpdatedRows === 1n
  }

  /** True for exactly one of any number of concurrent callers. */
  async claim(name: string, value: string): Promise<boolean> {
    const result = await this.#engine.db
      .insertInto('settings')
      .values({ name, value })
      .onConflict((conflict) => conflict.column('name').doNothing())
      .executeTakeFirst()
    return Number(result.numInsertedOrUpdatedRows ?? 0) === 1
  }
}
