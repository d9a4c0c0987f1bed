import { mkdtemp, readFile, rm, stat, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { sql } from 'kysely'
import { describe, expect, test } from 'vitest'
import { startReplayServer } from '../src/agents/models/replay-server.ts'
import { readConfig } from '../src/config.ts'
import { Vault } from '../src/credentials/vault.ts'
import { createPlatform } from '../src/main.ts'
import type { AiProviderDraft } from '../src/store/ai-providers.ts'
import { closedAddress } from './clients.ts'
import { engines, freshStore } from './engines.ts'
import { adminKey, startPlatform, type TestPlatform } from './kit.ts'

const script = 'steps:\n  - answer: ready\n'
const key = 'sk-a-key-of-a-provider-1234'
const compatible = { type: 'openai-compatible', base_url: 'http://127.0.0.1:9/v1', default_model: 'm' }

const create = async (platform: TestPlatform, fields: object) => (await platform.post('/ai-providers', fields)).body

test('a provider can be created, changed, listed and deleted, and its name is unique in its project', async () => {
  await using platform = await startPlatform()

  const made = await platform.post('/ai-providers', { name: 'r', type: 'replay', script })
  const again = await platform.post('/ai-providers', { name: 'r', type: 'replay', script })
  const changed = await platform.patch(`/ai-providers/${made.body.id}`, { timeout_seconds: 5 })

  expect(made.status).toBe(201)
  expect(made.body).toMatchObject({ type: 'replay', has_api_key: false, max_retries: 3, timeout_seconds: 120, script })
  expect(made.body.id).toMatch(/^aip_/)
  expect(again).toMatchObject({ status: 409, body: { error: { code: 'NAME_TAKEN' } } })
  expect(changed.body).toMatchObject({ name: 'r', timeout_seconds: 5, script })
  const listed = await platform.get('/ai-providers')
  expect(listed.body).toMatchObject({ total: 1, data: [{ name: 'r', has_api_key: false }] })
  // A script can be long.
  expect(listed.body.data[0]).not.toHaveProperty('script')
  expect((await platform.delete(`/ai-providers/${made.body.id}`)).status).toBe(204)
  expect((await platform.get(`/ai-providers/${made.body.id}`)).status).toBe(404)
})

test('the API key and header values of a provider are encrypted and never shown again', async () => {
  await using platform = await startPlatform()
  const headers = { 'x-team': 'of-the-header-value' }

  const made = await platform.post('/ai-providers', { name: 'c', ...compatible, api_key: key, headers })
  const { id } = made.body
  const got = await platform.get(`/ai-providers/${id}`)
  const kept = await platform.patch(`/ai-providers/${id}`, { headers: { 'x-team': '[hidden]', 'x-more': 'new' } })
  const record = await platform.platform.store.aiProviders.find(id)
  const cleared = await platform.patch(`/ai-providers/${id}`, { api_key: null, headers: null })

  expect(got.body).toMatchObject({ has_api_key: true, api_key_hint: '1234', headers: { 'x-team': '[hidden]' } })
  expect(kept.body.headers).toEqual({ 'x-team': '[hidden]', 'x-more': '[hidden]' })
  const everything = JSON.stringify([made, got, kept, record])
  for (const secret of [key, 'of-the-header-value']) expect(everything).not.toContain(secret)
  const opened = platform.platform.vault.open(record?.headers ?? '', `ai_providers/${id}/headers`)
  expect(JSON.parse(opened)).toEqual({ 'x-team': 'of-the-header-value', 'x-more': 'new' })
  expect(cleared.body).toMatchObject({ has_api_key: false, api_key_hint: null, headers: null })
})

test('an invalid provider is refused with every error in it', async () => {
  await using platform = await startPlatform()
  const faults = async (fields: object) =>
    (await platform.post('/ai-providers', { name: 'x', ...fields })).body.error.details.errors.map(
      ({ path }: { path: string }) => path,
    )

  expect(await faults({ type: 'openai-compatible' })).toEqual(['base_url'])
  expect(await faults({ type: 'replay' })).toEqual(['script'])
  expect(await faults({ type: 'replay', script, base_url: 'https://x.test', api_key: 'k' })).toEqual([
    'base_url',
    'api_key',
  ])
  expect(await faults({ type: 'openai', script })).toEqual(['script'])
  expect(await faults({ type: 'replay', script: 'steps:\n  - {}\n  - anser: x\n' })).toEqual([
    'script.steps[0]',
    'script.steps[1].anser',
    'script.steps[1]',
  ])
  expect(await faults({ type: 'replay', script: { steps: [] } })).toEqual(['script.steps'])
  expect(await faults({ ...compatible, base_url: 'ftp://x.test' })).toEqual(['base_url'])
  expect(await faults({ ...compatible, base_url: 'https://me:secret@x.test' })).toEqual(['base_url'])
  expect(await faults({ ...compatible, api_key: 'one\ntwo', prices: { m: { input: -1 } } })).toEqual(
    expect.arrayContaining(['prices.m.input', 'prices.m.output', 'api_key']),
  )
})

test('changing the URL of a provider requires its key again, so nobody can redirect the key to their own server', async () => {
  await using platform = await startPlatform()
  const { id } = await create(platform, { name: 'c', ...compatible, api_key: key, headers: { 'x-a': 'b' } })
  const elsewhere = { base_url: 'http://elsewhere.test/v1' }

  const taken = await platform.patch(`/ai-providers/${id}`, elsewhere)
  const typed = await platform.patch(`/ai-providers/${id}`, { type: 'openai', base_url: null })
  const kept = await platform.patch(`/ai-providers/${id}`, {
    ...elsewhere,
    api_key: 'k',
    headers: { 'x-a': '[hidden]' },
  })
  const path = await platform.patch(`/ai-providers/${id}`, { base_url: 'http://127.0.0.1:9/v2' })
  const replaced = await platform.patch(`/ai-providers/${id}`, { ...elsewhere, api_key: 'new', headers: null })

  expect(taken.body.error.details.errors.map((fault: { path: string }) => fault.path)).toEqual(['api_key', 'headers'])
  expect(typed.status).toBe(400)
  expect(kept.body.error.details.errors.map((fault: { path: string }) => fault.path)).toEqual(['headers.x-a'])
  expect(path.status).toBe(200)
  expect(replaced).toMatchObject({ status: 200, body: elsewhere })
})

test('a provider that an agent uses cannot be deleted', async () => {
  await using platform = await startPlatform()
  const { id } = await create(platform, { name: 'r', type: 'replay', script })
  await sql`insert into agents (id, project_id, name, ai_provider_id, tool_ids, tool_choice, stop_conditions, step_rules, max_steps, created_at, updated_at)
    values ('agt_1', ${platform.projectId}, 'helper', ${id}, '[]', '"auto"', '[]', '[]', 20, 0, 0)`.execute(
    platform.platform.store.engine.db,
  )

  const refused = await platform.delete(`/ai-providers/${id}`)

  expect(refused).toMatchObject({ status: 409, body: { error: { code: 'HAS_DEPENDENTS' } } })
  expect(refused.body.error.message).toContain('the agent "helper"')
  expect((await platform.get(`/ai-providers/${id}`)).status).toBe(200)
})

test('providers can be read and changed only with the permission to do so', async () => {
  await using platform = await startPlatform()
  const { id } = await create(platform, { name: 'r', type: 'replay', script })
  const reader = { key: await platform.keyFor([{ effect: 'Allow', action: ['ai-providers:GetAiProvider'] }]) }
  const nobody = { key: await platform.keyFor([{ effect: 'Allow', action: ['tools:ListTools'] }]) }

  expect((await platform.get(`/ai-providers/${id}`, reader)).status).toBe(200)
  expect((await platform.get(`/ai-providers/${id}/recording`, reader)).status).toBe(404)
  expect((await platform.patch(`/ai-providers/${id}`, { record: true }, reader)).status).toBe(403)
  expect((await platform.post(`/ai-providers/${id}/test`, {}, reader)).status).toBe(403)
  expect((await platform.get(`/ai-providers/${id}`, nobody)).status).toBe(404)
  expect((await platform.get('/ai-providers', nobody)).body.total).toBe(0)
  expect((await platform.post('/ai-providers', { name: 'n', type: 'replay', script }, nobody)).status).toBe(403)
})

test('testing a provider reports whether it works, and why not', async () => {
  await using server = await startReplayServer({ steps: [{ when: {}, answer: 'ready' }] }, { key })
  await using platform = await startPlatform()
  const base_url = `${server.url}/v1`
  let count = 0
  const test = async (fields: object, body = {}) => {
    const { id } = await create(platform, { name: `provider ${++count}`, type: 'openai-compatible', ...fields })
    return platform.post(`/ai-providers/${id}/test`, body)
  }

  const works = await test({ base_url, api_key: key, default_model: 'm' })
  const named = await test({ base_url, api_key: key }, { model: 'n' })
  const modelless = await test({ base_url, api_key: key, record: true })
  const keyless = await test({ base_url, default_model: 'm' })
  const wrongKey = await test({ base_url, default_model: 'm', api_key: 'sk-not-the-right-one' })
  const gone = await test({ base_url: await closedAddress(), default_model: 'm' })
  const scripted = await test({ type: 'replay', script })

  expect(works).toMatchObject({ status: 200, body: { ok: true, text: 'ready', model: 'm', error: null } })
  expect(named.body).toMatchObject({ ok: true, model: 'n' })
  expect(modelless).toMatchObject({ status: 400, body: { error: { code: 'VALIDATION_FAILED' } } })
  expect(keyless.body).toMatchObject({ ok: false, error: { code: 'MODEL_KEY_REFUSED' } })
  expect(keyless.body.error.message).toContain('requires an API key')
  expect(wrongKey.body).toMatchObject({ ok: false, error: { code: 'MODEL_KEY_REFUSED' } })
  expect(JSON.stringify(wrongKey.body)).not.toContain('right-one')
  expect(gone.body).toMatchObject({ ok: false, error: { code: 'MODEL_UNAVAILABLE' } })
  expect(scripted.body).toMatchObject({ ok: true, text: 'ready' })
})

test('a project that has providers cannot be deleted', async () => {
  await using platform = await startPlatform()
  const project = (await platform.post('/projects', { name: 'other' })).body
  await create(platform, { project_id: project.id, name: 'r', type: 'replay', script })

  const refused = await platform.delete(`/projects/${project.id}`)

  expect(refused.body.error.message).toContain('1 ai providers')
})

describe.each(engines)('providers on %s', (engine) => {
  test('are stored as given, and cannot be removed while an agent uses them', async () => {
    await using database = await freshStore(engine)
    const { aiProviders, projects, engine: opened } = database.store
    const { id: projectId } = await projects.create('p')
    const draft: AiProviderDraft = {
      ...{ name: 'n', type: 'openai', base_url: null, default_model: 'm', prices: { '*': { input: 0.15, output: 2 } } },
      ...{ record: true, timeout_seconds: 0.5, max_retries: 0, api_key: 'v1.x.y', api_key_hint: '1234', headers: null },
      ...{ header_names: ['a'], script: null },
    }

    const made = await aiProviders.create('aip_1', projectId, draft)
    const changed = await aiProviders.update('aip_1', { ...draft, name: 'other', prices: null })
    await sql`insert into agents (id, project_id, name, ai_provider_id, tool_ids, tool_choice, stop_conditions, step_rules, max_steps, created_at, updated_at)
      values ('agt_1', ${projectId}, 'helper', 'aip_1', '[]', '"auto"', '[]', '[]', 20, 0, 0)`.execute(opened.db)
    const kept = await aiProviders.remove('aip_1')
    const dependents = await aiProviders.dependents('aip_1')
    await sql`delete from agents`.execute(opened.db)

    expect(made).toMatchObject({ id: 'aip_1', project_id: projectId, ...draft })
    expect(changed).toMatchObject({ ...draft, name: 'other', prices: null })
    expect(kept).toBe(false)
    expect(dependents).toEqual(['the agent "helper"'])
    expect(await aiProviders.remove('aip_1')).toBe(true)
    expect(await aiProviders.find('aip_1')).toBeUndefined()
  })
})

async function freshFolder(): Promise<AsyncDisposable & { readonly path: string }> {
  const path = await mkdtemp(join(tmpdir(), 'quartermaster-'))
  return { path, [Symbol.asyncDispose]: () => rm(path, { recursive: true, force: true }) }
}

describe.each(engines)('a vault on %s', (engine) => {
  test('decrypts a value only in the place it was encrypted for', async () => {
    await using folder = await freshFolder()
    await using database = await freshStore(engine)
    const { settings } = database.store
    const vault = await Vault.open({ secretKey: undefined, data: folder.path, settings })

    const sealed = await vault.seal('a secret ✓', 'ai_providers/aip_1/api_key')
    const later = await Vault.open({ secretKey: undefined, data: folder.path, settings })
    const turned = `${sealed.slice(0, -2)}${sealed.endsWith('A') ? 'BB' : 'AA'}`

    expect(later.open(sealed, 'ai_providers/aip_1/api_key')).toBe('a secret ✓')
    expect(await vault.seal('a secret ✓', 'ai_providers/aip_1/api_key')).not.toBe(sealed)
    expect(() => vault.open(sealed, 'ai_providers/aip_2/api_key')).toThrow(/modified or moved/)
    expect(() => vault.open(turned, 'ai_providers/aip_1/api_key')).toThrow(/modified or moved/)
    expect(() => vault.open('nonsense', 'ai_providers/aip_1/api_key')).toThrow(/modified or moved/)
    expect((await stat(join(folder.path, 'secret.key'))).mode & 0o777).toBe(0o600)
    expect(await vault.findFault()).toBeUndefined()
  })

  test('with the wrong key names the missing key, and neither decrypts nor encrypts', async () => {
    await using one = await freshFolder()
    await using two = await freshFolder()
    await using database = await freshStore(engine)
    const { settings } = database.store
    const first = await Vault.open({ secretKey: undefined, data: one.path, settings })
    const sealed = await first.seal('x', 'p')

    const keyless = await Vault.open({ secretKey: undefined, data: two.path, settings })
    const other = await Vault.open({ secretKey: 'correct horse battery staple', data: one.path, settings })

    for (const vault of [keyless, other]) {
      expect(() => vault.open(sealed, 'p')).toThrow(/encrypted with the key .*same QM_SECRET_KEY/)
      await expect(vault.seal('y', 'p')).rejects.toMatchObject({ code: 'SECRET_KEY_WRONG' })
      expect(await vault.findFault()).toMatch(/same QM_SECRET_KEY/)
    }
    // A new key would only hide that the old one is missing.
    await expect(stat(join(two.path, 'secret.key'))).rejects.toThrow()
  })
})

test('the secret key can be 32 bytes in hex or base64, or a passphrase that always gives the same key', async () => {
  await using folder = await freshFolder()
  const bytes = Buffer.alloc(32, 7)
  const forms = [
    [bytes.toString('hex'), bytes.toString('base64'), bytes.toString('base64url')],
    ['correct horse battery staple', 'correct horse battery staple'],
  ]

  for (const same of forms) {
    await using database = await freshStore('sqlite')
    const options = { data: folder.path, settings: database.store.settings }
    const vaults = await Promise.all(same.map((secretKey) => Vault.open({ ...options, secretKey })))
    const sealed = await vaults[0]?.seal('x', 'p')

    for (const vault of vaults) expect(vault.open(sealed ?? '', 'p')).toBe('x')
  }

  expect(() => readConfig({}, { QM_SECRET_KEY: 'too short' })).toThrow(/QM_SECRET_KEY: must be 32 bytes/)
  await expect(stat(join(folder.path, 'secret.key'))).rejects.toThrow()
})

test('processes that create the key file at the same time end up with one key', async () => {
  await using folder = await freshFolder()
  await using database = await freshStore('sqlite')
  const options = { secretKey: undefined, data: folder.path, settings: database.store.settings }
  const vaults = await Promise.all(Array.from({ length: 8 }, () => Vault.open(options)))

  const sealed = await Promise.all(vaults.map((vault, at) => vault.seal(`${at}`, 'p')))

  for (const vault of vaults) expect(sealed.map((one) => vault.open(one, 'p'))).toEqual([...'01234567'])
})

test('an invalid or world-readable key file is refused, and the error says what to do', async () => {
  await using folder = await freshFolder()
  await using database = await freshStore('sqlite')
  const file = join(folder.path, 'secret.key')
  const open = () => Vault.open({ secretKey: undefined, data: folder.path, settings: database.store.settings })

  await writeFile(file, 'hello\n', { mode: 0o600 })
  await expect(open()).rejects.toThrow(/is not a key.*Restore it/)
  await writeFile(file, `${Buffer.alloc(32, 1).toString('base64')}\n`)
  await rm(file)
  await writeFile(file, `${Buffer.alloc(32, 1).toString('base64')}\n`, { mode: 0o644 })
  await expect(open()).rejects.toThrow(/chmod 600/)
})

test('a platform that lost its secret key keeps serving everything else, and reports the missing key', async () => {
  await using folder = await freshFolder()
  const environment = { QM_DATA: folder.path, QM_ADMIN_KEY: adminKey, QM_LOG_LEVEL: 'silent', QM_EMBEDDINGS: 'off' }
  const ask = async (
    platform: Awaited<ReturnType<typeof createPlatform>>,
    method: string,
    path: string,
    body?: object,
  ) => {
    const response = await platform.fetch(
      new Request(`http://platform.test/api/v1${path}`, {
        method,
        headers: { authorization: `Bearer ${adminKey}`, 'content-type': 'application/json' },
        ...(body && { body: JSON.stringify(body) }),
      }),
    )
    return { status: response.status, body: JSON.parse(await response.text()) }
  }
  const before = await createPlatform(readConfig({}, environment))
  const { body: provider } = await ask(before, 'POST', '/ai-providers', { name: 'c', ...compatible, api_key: key })
  await before.close()
  const lost = await readFile(join(folder.path, 'secret.key'))
  await rm(join(folder.path, 'secret.key'))

  const after = await createPlatform(readConfig({}, environment))
  const got = await ask(after, 'GET', `/ai-providers/${provider.id}`)
  const tested = await ask(after, 'POST', `/ai-providers/${provider.id}/test`, {})
  const sealed = await ask(after, 'PATCH', `/ai-providers/${provider.id}`, { api_key: 'another' })
  await after.close()
  await writeFile(join(folder.path, 'secret.key'), lost, { mode: 0o600 })
  const restored = await createPlatform(readConfig({}, environment))
  const again = await ask(restored, 'POST', `/ai-providers/${provider.id}/test`, {})
  await restored.close()

  expect(got).toMatchObject({ status: 200, body: { has_api_key: true } })
  expect(tested.body).toMatchObject({ ok: false, error: { code: 'SECRET_KEY_WRONG' } })
  expect(tested.body.error.message).toContain('QM_SECRET_KEY')
  expect(sealed).toMatchObject({ status: 500, body: { error: { code: 'SECRET_KEY_WRONG' } } })
  expect(again.body.error.code).toBe('MODEL_UNAVAILABLE')
})

test('an encrypted API key that was copied to another provider cannot be decrypted there', async () => {
  await using platform = await startPlatform()
  const { db } = platform.platform.store.engine
  const rich = await create(platform, { name: 'rich', ...compatible, api_key: key })
  const poor = await create(platform, { name: 'poor', ...compatible, api_key: 'sk-a-poor-key-of-my-own' })
  await sql`update ai_providers set api_key = (select api_key from ai_providers where id = ${rich.id})
    where id = ${poor.id}`.execute(db)

  const tested = await platform.post(`/ai-providers/${poor.id}/test`, {})

  expect(tested.body).toMatchObject({ ok: false, error: { code: 'SECRET_UNREADABLE' } })
})
