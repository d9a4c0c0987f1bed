import { randomBytes } from 'node:crypto'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import pg from 'pg'

/** Secrets that occur nowhere else, by the place where they were planted. */
export class Canaries {
  readonly #needles = new Map<string, string>()
  readonly #made = new Map<string, string>()

  /** The secret of a place. Some of its characters are encoded in URLs, JSON and headers, but its random part is not. */
  make(place: string): string {
    const made = this.#made.get(place)
    if (made !== undefined) return made
    const random = randomBytes(12).toString('hex')
    this.#needles.set(place, random)
    this.#made.set(place, `cnry/${random}+"é`)
    return this.make(place)
  }

  /** A secret that the platform has generated: `sk_…`. */
  keep(place: string, secret: string): void {
    this.#needles.set(place, secret.replace(/^[a-z]+_/, ''))
  }

  /** The places whose secret is in a text, in any encoding. */
  in(text: string | Buffer): string[] {
    const bytes = typeof text === 'string' ? Buffer.from(text) : text
    return [...this.#needles].flatMap(([place, needle]) =>
      formsOf(needle).some((form) => bytes.includes(form)) ? [place] : [],
    )
  }
}

/** In clear, in base64 at each offset, and in hex. The needle has only characters that URLs and JSON leave as they are. */
function formsOf(needle: string): string[] {
  const base64 = [0, 1, 2].map((offset) => {
    const whole = Buffer.from(`${' '.repeat(offset)}${needle}`).toString('base64')
    // The characters at both ends depend on the bytes around the needle.
    return whole.slice(offset === 0 ? 0 : 4, -4)
  })
  return [needle, ...base64, Buffer.from(needle).toString('hex')]
}

/** Every byte in the files of a folder. */
export function bytesIn(folder: string): Buffer {
  const files = readdirSync(folder, { recursive: true, withFileTypes: true }).filter((file) => file.isFile())
  return Buffer.concat(files.map(({ parentPath, name }) => readFileSync(join(parentPath, name))))
}

/** Every row of every table in every schema of a PostgreSQL database, as text. */
export async function rowsIn(connectionString: string): Promise<string> {
  const client = new pg.Client({ connectionString })
  await client.connect()
  try {
    const { rows: tables } = await client.query(
      `select quote_ident(table_schema) || '.' || quote_ident(table_name) as name from information_schema.tables
       where table_type = 'BASE TABLE' and table_schema not in ('pg_catalog', 'information_schema')`,
    )
    const texts: string[] = []
    for (const { name } of tables) {
      const { rows } = await client.query(`select t::text as row from ${name} t`)
      texts.push(...rows.map(({ row }) => row))
    }
    return texts.join('\n')
  } finally {
    await client.end()
  }
}
