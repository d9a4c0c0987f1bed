import type { LookupAddress, LookupAllOptions } from 'node:dns'
import { isIP, type LookupFunction, type Socket } from 'node:net'
import { buildConnector } from 'undici'
import type { FindObjection } from './addresses.ts'

export type Lookup = (
  hostname: string,
  options: LookupAllOptions,
  callback: (error: NodeJS.ErrnoException | null, addresses: LookupAddress[]) => void,
) => void

/** The egress guard blocked an address. The message does not name the host, because the connection may not know it. */
export class Refusal extends Error {}

export const connectTimeoutMs = 10_000

/** Connects only to addresses that the rules allow. Checks the address that the connection is actually made to. */
export function guardedConnector(findObjection: FindObjection, lookUp: Lookup): buildConnector.connector {
  const guardedLookup: LookupFunction = (hostname, options, callback) =>
    lookUp(hostname, { ...options, all: true }, (error, addresses) => {
      if (error) return callback(error, [])
      const open = addresses.filter(({ address }) => findObjection(address) === undefined)
      const [first] = open
      if (!first) {
        return callback(new Refusal(`it resolves to ${findObjection(addresses[0]?.address ?? '')}`), [])
      }
      return options.all ? callback(null, open) : callback(null, first.address, first.family)
    })
  const connect = buildConnector({ lookup: guardedLookup, timeout: connectTimeoutMs, allowH2: false })

  const findFault = (remoteAddress: string | undefined) => {
    // Only a connection that is already closed has no address.
    if (remoteAddress === undefined) return Object.assign(new Error('closed at once'), { code: 'ECONNRESET' })
    const objection = findObjection(remoteAddress)
    return objection === undefined ? undefined : new Refusal(`it connects to ${objection}`)
  }

  return (options, callback) => {
    const refusal = refuseLiteral(options.hostname, findObjection)
    if (refusal) {
      queueMicrotask(() => callback(refusal, null))
      return
    }
    connect(options, (error, socket) => {
      if (error) return callback(error, null)
      const fault = findFault(socket.remoteAddress)
      if (fault) {
        socket.destroy()
        return callback(fault, null)
      }
      reportResets(socket)
      return callback(null, socket)
    })
  }
}

/** Undici treats a reset as the end of a body without a declared length, and would return a truncated body as complete. */
export function reportResets(socket: Socket): void {
  socket.prependListener('error', (error: NodeJS.ErrnoException) => {
    if (error.code === 'ECONNRESET') error.code = 'ECONNABORTED'
  })
}

/** Checks literal addresses, which are not looked up. */
export function refuseLiteral(hostname: string, findObjection: FindObjection): Refusal | undefined {
  const objection = isIP(hostname) === 0 ? undefined : findObjection(hostname)
  return objection === undefined ? undefined : new Refusal(`it is ${objection}`)
}
