import { randomBytes, scrypt, timingSafeEqual } from 'node:crypto'
import { KeyedMutex } from '../lib/keyed-mutex.ts'

/** As OWASP recommends: 32 MB per password. Stored with each hash, so that it can be raised later. */
const current = { N: 2 ** 15, r: 8, p: 3 }
const hashBytes = 32

/** Hashing uses libuv's few threads, which other work needs too. */
const lanes = 2
const mutex = new KeyedMutex()
let next = 0

function derive(password: string, salt: Buffer, { N, r, p }: typeof current): Promise<Buffer> {
  const text = password.normalize('NFKC')
  const work = () =>
    new Promise<Buffer>((resolve, reject) =>
      scrypt(text, salt, hashBytes, { N, r, p, maxmem: 256 * N * r }, (error, bytes) =>
        error ? reject(error) : resolve(bytes),
      ),
    )
  return mutex.run(String(next++ % lanes), work)
}

/** `scrypt$<N>$<r>$<p>$<salt>$<hash>` */
export async function hashPassword(password: string): Promise<string> {
  const salt = randomBytes(16)
  const bytes = await derive(password, salt, current)
  return ['scrypt', current.N, current.r, current.p, salt.toString('base64url'), bytes.toString('base64url')].join('$')
}

/** A hash that no password matches. */
const unknown = ['scrypt', current.N, current.r, current.p, 'AAAAAAAAAAAAAAAAAAAAAA', ''].join('$')

/** Takes as long without a hash, so that the time does not reveal whether there is an account. */
export async function isPassword(password: string, hash: string | null | undefined): Promise<boolean> {
  const [, N, r, p, salt = '', expected = ''] = (hash ?? unknown).split('$')
  const bytes = await derive(password, Buffer.from(salt, 'base64url'), { N: Number(N), r: Number(r), p: Number(p) })
  const stored = Buffer.from(expected, 'base64url')
  return stored.length === bytes.length && timingSafeEqual(stored, bytes)
}
