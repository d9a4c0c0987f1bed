import { createHmac, generateKeyPair, randomBytes, timingSafeEqual } from 'node:crypto'
import { promisify } from 'node:util'
import { type CryptoKey, importJWK, type JWK } from 'jose'
import { Cached } from '../db/cached.ts'
import type { ChangeEvents } from '../db/change-events.ts'
import type { OauthKeys } from '../store/oauth-keys.ts'
import { sealedAt } from '../store/sealed.ts'
import type { Vault } from './vault.ts'

/** The one algorithm of our tokens: the cheapest to verify. */
export const tokenAlgorithm = 'RS256' as const

const firstSigningKey = 'signing'
const secret = 'secret'
/** Tokens live for ten minutes. A key that was replaced stays valid a little longer, for clocks that differ. */
const overlapMs = 15 * 60_000

export interface SigningKey {
  /** The private key. */
  readonly jwk: JWK
  readonly verifies: CryptoKey
  readonly createdAt: number
  /** When tokens that it has signed stop being valid. Undefined for the key that signs. */
  readonly validUntil: number | undefined
}

/**
 * The keys of the built-in authorization server, created on first use and shared by all processes on a database: the pair
 * that signs tokens, with those it has replaced, and one secret from which everything else is derived.
 */
export class OauthServerKeys {
  readonly #store: OauthKeys
  readonly #vault: Pick<Vault, 'seal' | 'open'>
  readonly #changes: ChangeEvents
  readonly #signing: Cached<readonly SigningKey[]>
  #secret: Promise<string> | undefined

  constructor(store: OauthKeys, vault: Pick<Vault, 'seal' | 'open'>, changes: ChangeEvents) {
    this.#store = store
    this.#vault = vault
    this.#changes = changes
    this.#signing = new Cached(changes, { clearOn: ['oauth_keys'], lifetime: untilNextEnd })
  }

  /** The keys that tokens may be signed with. The first one signs. */
  signing(): Promise<readonly SigningKey[]> {
    return this.#signing.find('all', () => this.#load())
  }

  /** The public keys that a token may be signed with, by key id. */
  async verifying(): Promise<ReadonlyMap<string, CryptoKey>> {
    return new Map((await this.signing()).map(({ jwk, verifies }) => [jwk.kid ?? '', verifies]))
  }

  /** Signs with a new key from now on. Earlier keys stay valid until their tokens have expired, unless they are revoked. */
  async rotate({ revokesEarlier }: { readonly revokesEarlier: boolean }): Promise<readonly SigningKey[]> {
    await this.signing()
    const jwk = await newSigningKey()
    const id = `${firstSigningKey}/${jwk.kid}`
    await this.#store.add(id, await this.#vault.seal(JSON.stringify(jwk), sealedAt.oauthKey(id)))
    const before = revokesEarlier ? Number.MAX_SAFE_INTEGER : Date.now() - overlapMs
    await this.#store.removeBefore(firstSigningKey, id, before)
    await this.#changes.publish('oauth_keys', [])
    return this.signing()
  }

  /** A key for one purpose, such as signing cookies. */
  async derive(purpose: string): Promise<Buffer> {
    this.#secret ??= this.#establish(secret, async () => randomBytes(32).toString('base64url'))
    return createHmac('sha256', await this.#secret)
      .update(purpose)
      .digest()
  }

  async #load(): Promise<readonly SigningKey[]> {
    const stored = await this.#store.list(firstSigningKey)
    if (stored.length === 0) {
      await this.#establish(firstSigningKey, async () => JSON.stringify(await newSigningKey()))
      return this.#load()
    }
    const now = Date.now()
    const keys = await Promise.all(
      stored.map(async ({ id, value, created_at: createdAt }, index) => {
        const jwk: JWK = JSON.parse(this.#vault.open(value, sealedAt.oauthKey(id)))
        const { kty = '', n = '', e = '' } = jwk
        const verifies = (await importJWK({ kty, n, e }, tokenAlgorithm)) as CryptoKey
        const successor = stored[index - 1]
        return { jwk, verifies, createdAt, validUntil: successor && successor.created_at + overlapMs }
      }),
    )
    return keys.filter(({ validUntil }) => validUntil === undefined || validUntil > now)
  }

  async #establish(id: string, make: () => Promise<string>): Promise<string> {
    const place = sealedAt.oauthKey(id)
    const known = await this.#store.find(id)
    if (known === undefined) await this.#store.add(id, await this.#vault.seal(await make(), place))
    return this.#vault.open(known ?? ((await this.#store.find(id)) as string), place)
  }
}

const untilNextEnd = (keys: readonly SigningKey[]): number =>
  Math.min(...keys.map(({ validUntil = Number.POSITIVE_INFINITY }) => validUntil)) - Date.now()

async function newSigningKey(): Promise<JWK> {
  const { privateKey } = await promisify(generateKeyPair)('rsa', { modulusLength: 2048 })
  const kid = randomBytes(8).toString('hex')
  return { ...privateKey.export({ format: 'jwk' }), kid, use: 'sig', alg: tokenAlgorithm }
}

/** Compares in constant time. */
export const isSame = (a: Buffer, b: Buffer): boolean => a.length === b.length && timingSafeEqual(a, b)
