import { createHmac, generateKeyPair, randomBytes, timingSafeEqual } from 'node:crypto'
import { promisify } from 'node:util'
import { type CryptoKey, importJWK, type JWK } from 'jose'
import type { OauthKeys } from '../store/oauth-keys.ts'
import { sealedAt } from '../store/sealed.ts'
import type { Vault } from './vault.ts'

/** The one algorithm of our tokens: the cheapest to verify. */
export const tokenAlgorithm = 'RS256' as const

const signingKey = 'signing'
const secret = 'secret'

/**
 * The keys of the built-in authorization server, created on first use and shared by all processes on a database: one pair
 * that signs tokens, and one secret from which everything else is derived.
 */
export class OauthServerKeys {
  readonly #store: OauthKeys
  readonly #vault: Pick<Vault, 'seal' | 'open'>
  #signing: Promise<JWK> | undefined
  #verifying: Promise<ReadonlyMap<string, CryptoKey>> | undefined
  #secret: Promise<string> | undefined

  constructor(store: OauthKeys, vault: Pick<Vault, 'seal' | 'open'>) {
    this.#store = store
    this.#vault = vault
  }

  /** The private key. */
  signing(): Promise<JWK> {
    this.#signing ??= this.#establish(signingKey, newSigningKey).then((text): JWK => JSON.parse(text))
    return this.#signing
  }

  /** The public keys that a token may be signed with, by key id. */
  verifying(): Promise<ReadonlyMap<string, CryptoKey>> {
    this.#verifying ??= this.signing().then(async ({ kid = '', kty = '', n = '', e = '' }) => {
      const key = await importJWK({ kty, n, e }, tokenAlgorithm)
      return new Map([[kid, key as CryptoKey]])
    })
    return this.#verifying
  }

  /** A key for one purpose, such as signing cookies. */
  async derive(purpose: string): Promise<Buffer> {
    this.#secret ??= this.#establish(secret, async () => randomBytes(32).toString('base64url'))
    return createHmac('sha256', await this.#secret)
      .update(purpose)
      .digest()
  }

  async #establish(id: string, make: () => Promise<string>): Promise<string> {
    const place = sealedAt.oauthKey(id)
    const known = await this.#store.find(id)
    if (known === undefined) await this.#store.add(id, await this.#vault.seal(await make(), place))
    return this.#vault.open(known ?? ((await this.#store.find(id)) as string), place)
  }
}

async function newSigningKey(): Promise<string> {
  const { privateKey } = await promisify(generateKeyPair)('rsa', { modulusLength: 2048 })
  const kid = randomBytes(8).toString('hex')
  return JSON.stringify({ ...privateKey.export({ format: 'jwk' }), kid, use: 'sig', alg: tokenAlgorithm })
}

/** Compares in constant time. */
export const isSame = (a: Buffer, b: Buffer): boolean => a.length === b.length && timingSafeEqual(a, b)
