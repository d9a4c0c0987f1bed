import type { Engine } from '../db/engine.ts'

/** Small facts about this installation, such as whether the first start has happened. */
export class Settings {
  readonly #engine: Pick<Engine, 'db'>

  constructor(engine: Pick<Engine, 'db'>) {
    this.#engine = engine
  }

  async find(name: string): Promise<string | undefined> {
    const row = await this.#engine.db.selectFrom('settings').select('value').where('name', '=', name).executeTakeFirst()
    return row?.value
  }

  /** The value of a setting that is made once and then stays, whoever asks first. */
  async establish(name: string, make: () => string): Promise<string> {
    const known = await this.find(name)
    if (known !== undefined) return known
    await this.claim(name, make())
    return (await this.find(name)) as string
  }

  /** False where it is not, or no longer, what it was taken for. */
  async replace(name: string, before: string, value: string): Promise<boolean> {
    const result = await this.#engine.db
      .updateTable('settings')
      .set({ value })
      .where('name', '=', name)
      .where('value', '=', before)
      .executeTakeFirst()
    return result.numUpdatedRows === 1n
  }

  /** True for exactly one of those who claim the name, however many ask at once. */
  async claim(name: string, value: string): Promise<boolean> {
    const result = await this.#engine.db
      .insertInto('settings')
      .values({ name, value })
      .onConflict((conflict) => conflict.column('name').doNothing())
      .executeTakeFirst()
    return Number(result.numInsertedOrUpdatedRows ?? 0) === 1
  }
}
