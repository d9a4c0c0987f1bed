import { newSecretKey } from '../model/ids.ts'
import type { Store } from '../store/store.ts'
import { defaultPolicies } from './defaults.ts'
import { hashKey } from './keys.ts'

const fromEnvironment = 'key_environment'

/**
 * Makes what a new installation needs: the default access policies, a first project and a first admin key. Returns the
 * key's value when it was made just now, for it is never seen again. A key given by the operator holds from then on,
 * and giving another replaces it, which is also the way back in for someone who has lost every key.
 */
export async function firstStart(store: Store, adminKey: string | undefined): Promise<string | undefined> {
  for (const policy of defaultPolicies) {
    if (!(await store.accessPolicies.find(policy.id))) {
      await store.accessPolicies.create({ ...policy, project_id: null }).catch(ignoreIfThere(store, policy.id))
    }
  }
  const isFirst = await store.settings.claim('first_start', new Date().toISOString())
  if (isFirst) await store.projects.create('default')

  if (adminKey !== undefined) {
    const known = await store.apiKeys.findByHash(hashKey(adminKey))
    if (!known) {
      await store.apiKeys.remove(fromEnvironment)
      await createAdminKey(store, adminKey, fromEnvironment, 'admin (QM_ADMIN_KEY)')
    }
    return undefined
  }
  if (!isFirst) return undefined
  const value = newSecretKey()
  await createAdminKey(store, value, undefined, 'admin')
  return value
}

const createAdminKey = (store: Store, value: string, id: string | undefined, name: string) =>
  store.apiKeys.create({
    ...(id && { id }),
    project_id: null,
    name,
    key_hash: hashKey(value),
    key_prefix: value.slice(0, 8),
    access_policy_ids: ['pol_administrator'],
    rate_limit: null,
    expires_at: null,
  })

/** Another replica that starts at the same moment may have been first. */
const ignoreIfThere = (store: Store, id: string) => async (error: unknown) => {
  if (!(await store.accessPolicies.find(id))) throw error
}
