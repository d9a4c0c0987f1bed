import { hash } from 'node:crypto'
import { type Adapter, type AdapterPayload, errors } from 'oidc-provider'
import type { Vault } from '../../credentials/vault.ts'
import type { OauthArtifactRow } from '../../db/tables.ts'
import type { OauthGrant } from '../../model/oauth-grant.ts'
import { sealedAt } from '../../store/sealed.ts'
import type { Store } from '../../store/store.ts'
import type { SignedClients } from './clients.ts'

/**
 * A client that did not get the response to a refresh, or that has two windows, sends the old refresh token again. For this
 * long that is no theft.
 */
const graceMs = 30_000

export interface AdapterDeps {
  readonly store: Pick<Store, 'oauthArtifacts' | 'oauthGrants'>
  readonly vault: Pick<Vault, 'seal' | 'open'>
  readonly clients: SignedClients
  /** Called with a grant that was revoked because of a request, after that. */
  onRevoked(grant: OauthGrant): Promise<void>
}

/** Where the authorization server keeps what it issues. Values are found by their hash, and what is stored is encrypted. */
export function createAdapter(kind: string, { store, vault, clients, onRevoked }: AdapterDeps): Adapter {
  const { oauthArtifacts: artifacts, oauthGrants: grants } = store
  const idOf = (value: string) => `${kind}/${hash('sha256', value)}`

  const toPayload = (row: OauthArtifactRow | undefined): AdapterPayload | undefined => {
    if (!row) return undefined
    const payload: AdapterPayload = JSON.parse(vault.open(row.payload, sealedAt.oauthArtifact(row.id)))
    return { ...payload, ...(isUsed(row) && { consumed: Math.floor((row.consumed_at ?? 0) / 1000) }) }
  }
  const isUsed = ({ consumed_at: at }: OauthArtifactRow) =>
    at !== null && (kind !== 'RefreshToken' || Date.now() - at > graceMs)

  return {
    async upsert(value, payload, expiresIn) {
      if (kind === 'Client') return
      const id = idOf(value)
      const grantId = kind === 'Grant' ? value : (payload.grantId ?? null)
      const expiresAt = Date.now() + (expiresIn ?? 0) * 1000
      await artifacts.put({
        ...{ id, kind, grant_id: grantId, expires_at: expiresAt },
        uid_hash: typeof payload.uid === 'string' ? hash('sha256', payload.uid) : null,
        payload: await vault.seal(JSON.stringify(payload), sealedAt.oauthArtifact(id)),
      })
      if (kind === 'RefreshToken' && grantId) await grants.touch(grantId, { expires_at: expiresAt })
    },
    find: async (value) => (kind === 'Client' ? clients.find(value) : toPayload(await artifacts.find(idOf(value)))),
    findByUid: async (uid) => toPayload(await artifacts.findByUid(kind, hash('sha256', uid))),
    // Codes for devices are not offered.
    findByUserCode: async () => undefined,
    async consume(value) {
      const isFirst = await artifacts.consume(idOf(value))
      // Of two requests with one code that arrive together, one wins.
      if (!isFirst && kind === 'AuthorizationCode') throw new errors.InvalidGrant('authorization code already consumed')
    },
    async destroy(value) {
      await artifacts.remove(idOf(value))
      if (kind === 'Grant') await grants.remove(value)
    },
    async revokeByGrantId(grantId) {
      const grant = await grants.find(grantId)
      await grants.remove(grantId)
      if (grant) await onRevoked(grant)
    },
  }
}
