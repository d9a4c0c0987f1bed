import { BlockList, isIP } from 'node:net'
import { StartError } from '../model/start-error.ts'

/**
 * Addresses that are not on the public internet. The first matching kind counts, so metadata services, which return the
 * credentials of the machine, stay blocked when private addresses are allowed.
 */
const kinds = {
  metadata: {
    name: 'a cloud metadata address',
    ranges: ['169.254.169.254', '100.100.100.200', '168.63.129.16', 'fd00:ec2::/32', 'fd20:ce::254'],
  },
  loopback: { name: 'a loopback address', ranges: ['127.0.0.0/8', '::1'] },
  private: {
    name: 'a private address',
    ranges: ['10.0.0.0/8', '172.16.0.0/12', '192.168.0.0/16', '100.64.0.0/10', 'fc00::/7'],
  },
  linkLocal: { name: 'a link-local address', ranges: ['169.254.0.0/16', 'fe80::/10'] },
  multicast: { name: 'a multicast address', ranges: ['224.0.0.0/4', 'ff00::/8'] },
  documentation: {
    name: 'an address reserved for documentation',
    ranges: ['192.0.2.0/24', '198.51.100.0/24', '203.0.113.0/24', '2001:db8::/32', '3fff::/20'],
  },
  reserved: {
    name: 'a reserved address',
    // The last three cover all of IPv6 except 2000::/3, the only part that is allocated.
    ranges: [
      ...['0.0.0.0/8', '192.0.0.0/24', '192.88.99.0/24', '198.18.0.0/15', '240.0.0.0/4'],
      ...['2001::/23', '::/3', '4000::/2', '8000::/1'],
    ],
  },
} as const

/** Returns why an address is blocked, such as "a private address"; undefined if it is allowed. */
export type FindObjection = (address: string) => string | undefined

export function createAddressRules(options: {
  readonly allowLoopback: boolean
  readonly allow: readonly string[]
}): FindObjection {
  const { loopback, private: privately } = kinds
  const allowed = new Ranges(options.allow.filter((entry) => entry !== 'private'))
  const open = new Set<string>()
  if (options.allowLoopback) open.add(loopback.name)
  if (options.allow.includes('private')) open.add(privately.name)
  const blocked = Object.values(kinds).map(({ name, ranges }) => ({ name, ranges: new Ranges(ranges) }))

  return function findObjection(scoped) {
    const [address = ''] = scoped.split('%')
    const family = isIP(address)
    if (family === 0) return 'an invalid IP address'
    if (allowed.have(address)) return undefined
    const inner = family === 6 ? findInner(address) : undefined
    if (inner !== undefined) return findObjection(inner)
    const name = blocked.find(({ ranges }) => ranges.have(address))?.name
    return name === undefined || open.has(name) ? undefined : name
  }
}

/** A set of addresses. IPv4 and IPv6 are separate because a `BlockList` finds every IPv4 address inside `::/3`. */
export class Ranges {
  readonly #ipv4 = new BlockList()
  readonly #ipv6 = new BlockList()

  constructor(entries: readonly string[]) {
    for (const entry of entries) {
      const [address = '', prefix, ...rest] = entry.split('/')
      const family = address.includes('%') ? 0 : isIP(address)
      const bits = family === 4 ? 32 : 128
      const length = prefix === undefined ? bits : /^\d{1,3}$/.test(prefix) ? Number(prefix) : Number.NaN
      if (family === 0 || !(length <= bits) || rest.length > 0) {
        throw new StartError(
          `"${entry}" is not an address range. Use a form such as 10.0.0.0/8 or fd00::/8, or "private" for all private ranges.`,
        )
      }
      if (family === 4) this.#ipv4.addSubnet(address, length, 'ipv4')
      else this.#ipv6.addSubnet(address, length, 'ipv6')
    }
  }

  have(address: string): boolean {
    return isIP(address) === 4 ? this.#ipv4.check(address, 'ipv4') : this.#ipv6.check(address, 'ipv6')
  }
}

/** 96-bit prefixes that are followed by an IPv4 address: compatible, mapped, translated, and NAT64. */
const wrappers = new Set(['0:0:0:0:0:0', '0:0:0:0:0:ffff', '0:0:0:0:ffff:0', '64:ff9b:0:0:0:0'])

/** The IPv4 address that is embedded in an IPv6 address. */
function findInner(address: string): string | undefined {
  const groups = groupsOf(address)
  const [first, second = 0, third = 0] = groups
  if (first === 0x2002) return dotted(second, third)
  const [high = 0, low = 0] = groups.slice(6)
  const prefix = groups.slice(0, 6).map((group) => group.toString(16))
  // 0.0.0.0/16 is never an embedded address: these are `::` and `::1`.
  return high !== 0 && wrappers.has(prefix.join(':')) ? dotted(high, low) : undefined
}

/** The eight groups of a valid IPv6 address in any notation. */
function groupsOf(address: string): readonly number[] {
  const hexadecimal = address.replace(/(\d+)\.(\d+)\.(\d+)\.(\d+)$/, (_, ...bytes: string[]) => {
    const [a = 0, b = 0, c = 0, d = 0] = bytes.map(Number)
    return `${(a * 256 + b).toString(16)}:${(c * 256 + d).toString(16)}`
  })
  const [head = [], tail = []] = hexadecimal
    .split('::')
    .map((half) => (half === '' ? [] : half.split(':').map((group) => Number.parseInt(group, 16))))
  return [...head, ...new Array<number>(8 - head.length - tail.length).fill(0), ...tail]
}

const dotted = (high: number, low: number) => [high >> 8, high & 255, low >> 8, low & 255].join('.')
