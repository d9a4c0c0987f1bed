import type { Transaction } from 'kysely'
import type { PolicyDocument } from '../model/access-policy.ts'
import type { Principal } from '../model/principal.ts'
import type { Engine } from './engine.ts'
import type { Tables } from './tables.ts'

/** Compares the keys and people without a project before and after a change, and throws if it is not allowed. */
export type Guard = (before: readonly Principal[], after: readonly Principal[]) => void

/** Changes keys, people or access policies if the guard allows it. Changes are serialized across all processes. */
export function guarded<Result>(
  { db: database }: Engine,
  guard: Guard | undefined,
  change: (db: Pick<Transaction<Tables>, 'updateTable' | 'deleteFrom'>) => Promise<Result>,
): Promise<Result> {
  if (!guard) return change(database)
  return database.transaction().execute(async (tx) => {
    // Locks this row. Otherwise two transactions could each delete one of the last two keys and still see the other one.
    await tx
      .updateTable('settings')
      .set((row) => ({ value: row.ref('value') }))
      .where('name', '=', 'first_start')
      .execute()
    const before = await unboundPrincipals(tx)
    const result = await change(tx)
    guard(before, await unboundPrincipals(tx))
    return result
  })
}

async function unboundPrincipals(tx: Transaction<Tables>): Promise<Principal[]> {
  const keys = await tx
    .selectFrom('api_keys')
    .select(['id', 'name', 'access_policy_ids', 'rate_limit', 'expires_at'])
    .where('project_id', 'is', null)
    .where((row) => row.or([row('expires_at', 'is', null), row('expires_at', '>', Date.now())]))
    .execute()
  const people = await tx
    .selectFrom('users')
    .select(['id', 'name', 'access_policy_ids'])
    .where('project_id', 'is', null)
    .where('status', '=', 'active')
    .execute()
  const policies = await tx
    .selectFrom('access_policies')
    .select(['id', 'document'])
    .where('project_id', 'is', null)
    .execute()
  const grants = new Map(
    policies.map(({ id, document }) => [
      id,
      { policyId: id, statements: (JSON.parse(document) as PolicyDocument).statement },
    ]),
  )
  const grantsOf = (ids: string) => (JSON.parse(ids) as string[]).flatMap((id) => grants.get(id) ?? [])
  return [
    ...keys.map(({ id, name, access_policy_ids, rate_limit, expires_at }) => ({
      ...{ kind: 'api_key' as const, id, name, projectId: null, endUserId: null },
      ...{ rateLimit: rate_limit, expiresAt: expires_at, grants: grantsOf(access_policy_ids) },
    })),
    ...people.map(({ id, name, access_policy_ids }) => ({
      ...{ kind: 'user' as const, id, name, projectId: null, endUserId: id },
      ...{ rateLimit: null, expiresAt: null, grants: grantsOf(access_policy_ids) },
    })),
  ]
}
