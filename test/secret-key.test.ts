import { mkdtemp, readFile, rename, rm, stat } from 'node:fs/promises'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { sql } from 'kysely'
import { describe, expect, test } from 'vitest'
import { readConfig } from '../src/config.ts'
import { Vault } from '../src/credentials/vault.ts'
import { createPlatform, type Platform } from '../src/main.ts'
import { Sealed, sealedAt } from '../src/store/sealed.ts'
import { openStore, type Store } from '../src/store/store.ts'
import { engines, freshDatabase } from './engines.ts'
import { adminKey } from './kit.ts'

const before = 'a'.repeat(64)
const after = 'a passphrase that is the next key'
const apiKey = 'sk-a-key-of-a-provider-1234'

/** A model API that records the headers of its requests. */
async function startModels() {
  const asked: string[] = []
  const server = createServer(({ headers }, response) => {
    asked.push(`${headers.authorization} ${headers['x-team']}`)
    response.writeHead(401, { 'content-type': 'application/json' }).end('{"error":{"message":"no"}}')
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`,
    asked,
    [Symbol.asyncDispose]: () => new Promise<void>((resolve) => server.close(() => resolve())),
  }
}

/** A database and a data folder for several starts of the platform. */
async function somewhere(engine: (typeof engines)[number]) {
  const database = await freshDatabase(engine)
  const data = database.options.data ?? (await mkdtemp(join(tmpdir(), 'quartermaster-')))
  return {
    data,
    start: (environment: Record<string, string> = {}) =>
      createPlatform(
        readConfig(
          {},
          {
            QM_DATA: data,
            ...(database.options.databaseUrl && { DATABASE_URL: database.options.databaseUrl }),
            QM_ADMIN_KEY: adminKey,
            QM_LOG_LEVEL: 'silent',
            QM_EMBEDDINGS: 'off',
            ...environment,
          },
        ),
      ),
    open: () => openStore(database.options),
    async [Symbol.asyncDispose]() {
      await database.remove()
      await rm(data, { recursive: true, force: true })
    },
  }
}

async function ask(platform: Platform, path: string, body: object) {
  const response = await platform.fetch(
    new Request(`http://platform.test/api/v1${path}`, {
      method: 'POST',
      headers: { authorization: `Bearer ${adminKey}`, 'content-type': 'application/json' },
      body: JSON.stringify(body),
    }),
  )
  return JSON.parse(await response.text())
}

/** Creates one secret of each kind. */
async function fill(platform: Platform, url: string) {
  const provider = await ask(platform, '/ai-providers', {
    ...{ name: 'models', type: 'openai-compatible', base_url: url, default_model: 'm' },
    ...{ api_key: apiKey, headers: { 'x-team': 'support' } },
  })
  const webhook = await ask(platform, '/webhooks', { name: 'pager', url: `${url}?key=${apiKey}`, events: ['*'] })
  const rotated = await ask(platform, `/webhooks/${webhook.id}/rotate-secret`, {})
  const execute = { url, method: 'GET', headers: { authorization: `Bearer ${apiKey}`, 'x-team': 'tools' } }
  const tool = await ask(platform, '/tools', { name: 'models', parameters: {}, execute })
  const ids = { provider: provider.id as string, webhook: webhook.id as string, tool: tool.id as string }
  return { ...ids, secrets: [rotated.secret, webhook.secret] }
}

/** The ids of the keys that encrypt anything in the database, in any column. */
async function keysUsed({ engine: { db } }: Store): Promise<string[]> {
  const found = new Set<string>()
  for (const { name } of await db.introspection.getTables()) {
    const { rows } = await sql`select * from ${sql.table(name)}`.execute(db).catch(() => ({ rows: [] }))
    for (const [, id] of JSON.stringify(rows).matchAll(/"v1\.([0-9a-f]{8})\./g)) found.add(id as string)
  }
  return [...found]
}

async function webhookSecrets({ store, vault }: Pick<Platform, 'store' | 'vault'>, id: string): Promise<string[]> {
  const sealed = await store.webhooks.findSecrets(id)
  return [sealed?.secret, sealed?.previous_secret].map((one) => vault.open(one ?? '', sealedAt.webhookSecret(id)))
}

describe.each(engines)('the secret key, on %s,', (engine) => {
  test('can be rotated without losing a secret', async () => {
    await using models = await startModels()
    await using place = await somewhere(engine)
    const first = await place.start({ QM_SECRET_KEY: before })
    const made = await fill(first, models.url)
    const used = await keysUsed(first.store)
    await first.close()

    const second = await place.start({ QM_SECRET_KEY: after, QM_SECRET_KEY_PREVIOUS: before })
    await second.close()
    const third = await place.start({ QM_SECRET_KEY: after })
    await ask(third, `/ai-providers/${made.provider}/test`, {})
    await ask(third, `/tools/${made.tool}/call`, { input: {} })
    const secrets = await webhookSecrets(third, made.webhook)
    const usedNow = await keysUsed(third.store)
    const sealed = await ask(third, '/webhooks', { name: 'another', url: models.url, events: ['*'] })
    await third.close()

    expect(models.asked).toEqual([`Bearer ${apiKey} support`, `Bearer ${apiKey} tools`])
    expect(secrets).toEqual(made.secrets)
    expect(used).toHaveLength(1)
    expect(usedNow).toHaveLength(1)
    expect(usedNow).not.toEqual(used)
    expect(sealed).toMatchObject({ secret: expect.stringContaining('whsec_') })
  })

  test('is rotated for all secrets or none, wherever a start is interrupted', async () => {
    await using place = await somewhere(engine)
    const first = await place.start({ QM_SECRET_KEY: before })
    const made = await fill(first, 'http://127.0.0.1:9/v1')
    const used = await keysUsed(first.store)
    await first.close()
    const store = await place.open()
    const keys = { secretKey: after, previousSecretKey: before, data: place.data, settings: store.settings }
    const { replace } = Sealed.prototype

    for (const writes of [0, 1, 3]) {
      let left = writes
      Sealed.prototype.replace = function (...args) {
        return left-- === 0 ? Promise.reject(new Error('killed')) : replace.apply(this, args)
      }
      const vault = await Vault.open(keys)
      await expect(vault.renew(store).finally(() => Object.assign(Sealed.prototype, { replace }))).rejects.toThrow(
        'killed',
      )

      const alone = await Vault.open({ ...keys, secretKey: before, previousSecretKey: undefined })
      expect(await alone.findFault()).toBeUndefined()
      expect(await webhookSecrets({ store, vault: alone }, made.webhook)).toEqual(made.secrets)
      expect(await keysUsed(store)).toEqual(used)
    }
    expect(await (await Vault.open(keys)).renew(store)).toEqual({ renewed: 6, unreadable: [], missing: [] })
    const done = await Vault.open({ ...keys, previousSecretKey: undefined })
    expect(await done.findFault()).toBeUndefined()
    expect(await webhookSecrets({ store, vault: done }, made.webhook)).toEqual(made.secrets)
    expect(await keysUsed(store)).toHaveLength(1)
    await store.close()
  })

  test('is never rotated to two keys if several processes each generate a key file', async () => {
    await using place = await somewhere(engine)
    const first = await place.start({ QM_SECRET_KEY: before })
    const made = await fill(first, 'http://127.0.0.1:9/v1')
    await first.close()
    const store = await place.open()
    const vaults = await Promise.all(
      ['one', 'two', 'three'].map((folder) =>
        Vault.open({
          ...{ secretKey: undefined, previousSecretKey: before },
          ...{ data: join(place.data, folder), settings: store.settings },
        }),
      ),
    )

    // The first process pauses in the middle, so that the others start meanwhile.
    const { replace } = Sealed.prototype
    let writes = 0
    Sealed.prototype.replace = async function (...args) {
      if (++writes === 2) await new Promise((resolve) => setTimeout(resolve, 500))
      return replace.apply(this, args)
    }
    const renewals = await Promise.all(vaults.map((vault) => vault.renew(store))).finally(() =>
      Object.assign(Sealed.prototype, { replace }),
    )
    const faults = await Promise.all(vaults.map((vault) => vault.findFault()))
    const fitting = vaults.filter((_, i) => faults[i] === undefined)

    expect(renewals.map(({ renewed }) => renewed).sort()).toEqual([0, 0, 6])
    expect(await keysUsed(store)).toHaveLength(1)
    expect(fitting).toHaveLength(1)
    expect(await webhookSecrets({ store, vault: fitting[0] as Vault }, made.webhook)).toEqual(made.secrets)
    await store.close()
  })

  test('can be rotated by several processes at once', async () => {
    await using place = await somewhere(engine)
    const first = await place.start({ QM_SECRET_KEY: before })
    const made = await fill(first, 'http://127.0.0.1:9/v1')
    await first.close()
    const store = await place.open()
    const keys = { secretKey: after, previousSecretKey: before, data: place.data, settings: store.settings }

    const vaults = await Promise.all([1, 2, 3].map(() => Vault.open(keys)))
    const renewals = await Promise.all(vaults.map((vault) => vault.renew(store)))

    expect(renewals.reduce((sum, { renewed }) => sum + renewed, 0)).toBe(6)
    for (const vault of vaults) {
      expect(await webhookSecrets({ store, vault }, made.webhook)).toEqual(made.secrets)
      expect(vault.open(await vault.seal('x', 'p'), 'p')).toBe('x')
    }
    await store.close()
  })

  test('is reported as wrong if neither it nor the previous one can decrypt, and nothing is changed', async () => {
    await using place = await somewhere(engine)
    const first = await place.start({ QM_SECRET_KEY: before })
    const made = await fill(first, 'http://127.0.0.1:9/v1')
    const used = await keysUsed(first.store)
    await first.close()

    const wrong = await place.start({ QM_SECRET_KEY: after, QM_SECRET_KEY_PREVIOUS: 'b'.repeat(64) })
    const fault = await wrong.vault.findFault()
    const refused = await ask(wrong, `/ai-providers/${made.provider}/test`, {})
    const usedStill = await keysUsed(wrong.store)
    await wrong.close()
    const again = await place.start({ QM_SECRET_KEY: before })
    const secrets = await webhookSecrets(again, made.webhook)
    await again.close()

    expect(fault).toMatch(
      new RegExp(`encrypted with the key ${used[0]}, .* \\(QM_SECRET_KEY\\) and .* \\(QM_SECRET_KEY_PREVIOUS\\)`),
    )
    expect(refused.error.code).toBe('SECRET_KEY_WRONG')
    expect(usedStill).toEqual(used)
    expect(secrets).toEqual(made.secrets)
  })
})

test('a secret that another process encrypted with the previous key meanwhile is reported, and re-encrypted later', async () => {
  await using place = await somewhere('sqlite')
  const first = await place.start({ QM_SECRET_KEY: before })
  const made = await fill(first, 'http://127.0.0.1:9/v1')
  const late = await first.vault.seal('late', sealedAt.providerKey(made.provider))
  const used = await keysUsed(first.store)
  await first.close()
  const second = await place.start({ QM_SECRET_KEY: after, QM_SECRET_KEY_PREVIOUS: before })
  await sql`update ai_providers set api_key = ${late}`.execute(second.store.engine.db)
  await second.close()

  const third = await place.start({ QM_SECRET_KEY: after })
  const told = await third.vault.renew(third.store)
  await third.close()
  const fourth = await place.start({ QM_SECRET_KEY: after, QM_SECRET_KEY_PREVIOUS: before })
  const provider = await fourth.store.aiProviders.find(made.provider)
  const usedNow = await keysUsed(fourth.store)
  await fourth.close()

  expect(told).toEqual({ renewed: 0, unreadable: [], missing: used })
  expect(fourth.vault.open(provider?.api_key ?? '', sealedAt.providerKey(made.provider))).toBe('late')
  expect(usedNow).not.toContain(used[0])
})

test('a key file that another process has created since the start is used', async () => {
  await using place = await somewhere('sqlite')
  const store = await place.open()
  const open = () => Vault.open({ secretKey: undefined, data: place.data, settings: store.settings })
  const [first, second, third] = [await open(), await open(), await open()]

  const sealed = await first.seal('x', 'p')

  expect(second.open(sealed, 'p')).toBe('x')
  expect(first.open(await third.seal('y', 'p'), 'p')).toBe('y')
  await store.close()
})

test('a key file can be replaced by a key in the environment, and by another key file', async () => {
  await using place = await somewhere('sqlite')
  const file = join(place.data, 'secret.key')
  const first = await place.start()
  const made = await fill(first, 'http://127.0.0.1:9/v1')
  await first.close()

  const inFile = (await readFile(file, 'utf8')).trim()
  const second = await place.start({ QM_SECRET_KEY: after, QM_SECRET_KEY_PREVIOUS: inFile })
  await second.close()
  await rename(file, `${file}.old`)
  const third = await place.start({ QM_SECRET_KEY_PREVIOUS: after })
  await third.close()
  const fourth = await place.start()
  const secrets = await webhookSecrets(fourth, made.webhook)
  await fourth.close()

  expect(secrets).toEqual(made.secrets)
  expect((await readFile(file, 'utf8')).trim()).not.toBe(inFile)
  expect((await stat(file)).mode & 0o777).toBe(0o600)
})

test('a secret that cannot be decrypted does not prevent the rotation of the others', async () => {
  await using place = await somewhere('sqlite')
  const first = await place.start({ QM_SECRET_KEY: before })
  const made = await fill(first, 'http://127.0.0.1:9/v1')
  await sql`update ai_providers set api_key = headers`.execute(first.store.engine.db)
  await first.close()

  const store = await place.open()
  const keys = { secretKey: after, previousSecretKey: before, data: place.data, settings: store.settings }
  const vault = await Vault.open(keys)
  const renewal = await vault.renew(store)

  expect(renewal).toEqual({ renewed: 5, unreadable: [sealedAt.providerKey(made.provider)], missing: [] })
  expect(await webhookSecrets({ store, vault }, made.webhook)).toEqual(made.secrets)
  await store.close()
})

test('a previous key that is too short is refused', () => {
  expect(() => readConfig({}, { QM_SECRET_KEY_PREVIOUS: 'short' })).toThrow(/QM_SECRET_KEY_PREVIOUS: must be 32 bytes/)
})
