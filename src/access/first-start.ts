import { newSecretKey } from '../model/ids.ts'
import type { Store } from '../store/store.ts'
import { defaultPolicies } from './defaults.ts'
import { hashKey } from './keys.ts'

const fromEnvironment = 'key_environment'

const generated = 'key_first'

/** The operator's own keys: from the environment, or generated at the first start. */
export const operatorKeys: ReadonlySet<string> = new Set([fromEnvironment, generated])

const shown = 'first_key_shown'
/** A replica that started at the same time has printed its key by then. */
const startsWithin = 60_000

/**
 * Sets up a new installation: the default access policies, a first project and a first admin key.
 *
 * Returns the value of a generated key, which cannot be read again later. Call `firstKeyShown` once it has been printed.
 * Until then, and while no key has been used, each start generates a new one: the previous start was interrupted before
 * anyone saw its key.
 *
 * A key supplied by the operator is stored, and replaces the one supplied before. This is also how you regain access after
 * losing every key.
 */
export async function firstStart(store: Store, adminKey: string | undefined): Promise<string | undefined> {
  for (const policy of defaultPolicies) {
    if (!(await store.accessPolicies.find(policy.id))) {
      await store.accessPolicies.create({ ...policy, project_id: null }).catch(ignoreIfThere(store, policy.id))
    }
  }
  const isFirst = await store.settings.claim('first_start', new Date().toISOString())
  const begins = isFirst || (await wasCutOff(store))
  if (begins && (await store.projects.count()) === 0) await store.projects.create('default')

  if (adminKey !== undefined) {
    const known = await store.apiKeys.findByHash(hashKey(adminKey))
    if (!known) {
      await store.apiKeys.remove(fromEnvironment)
      await createAdminKey(store, adminKey, fromEnvironment, 'admin (QM_ADMIN_KEY)')
    }
    return undefined
  }
  if (!begins) return undefined
  const value = newSecretKey()
  await store.apiKeys.remove(generated)
  await createAdminKey(store, value, generated, 'admin')
  return value
}

export const firstKeyShown = async (store: Store): Promise<void> => {
  await store.settings.claim(shown, new Date().toISOString())
}

/** Whether a first start was interrupted before its key was printed. */
async function wasCutOff(store: Store): Promise<boolean> {
  const { data, total } = await store.apiKeys.list({ limit: 1, offset: 0 }, undefined)
  const [only] = data
  if (total > 1 || (only && (only.id !== generated || only.last_used_at !== null))) return false
  if (await store.settings.find(shown)) return false
  const startedAt = Date.parse((await store.settings.find('first_start')) ?? '')
  return store.engine.name === 'sqlite' || Date.now() - startedAt > startsWithin
}

const createAdminKey = (store: Store, value: string, id: string, name: string) =>
  store.apiKeys.create({
    id,
    project_id: null,
    name,
    key_hash: hashKey(value),
    key_prefix: value.slice(0, 8),
    access_policy_ids: ['pol_administrator'],
    rate_limit: null,
    expires_at: null,
  })

/** Another replica that starts at the same time may have created it first. */
const ignoreIfThere = (store: Store, id: string) => async (error: unknown) => {
  if (!(await store.accessPolicies.find(id))) throw error
}
