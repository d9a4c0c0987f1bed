import { expect, test } from 'vitest'
import { createAddressRules } from './addresses.ts'

const findObjection = createAddressRules({ allowLoopback: false, allow: [] })

test.each([
  ['a loopback address', ['127.0.0.1', '127.255.255.255', '::1', '0:0:0:0:0:0:0:1']],
  ['a private address', ['10.0.0.1', '172.16.0.1', '172.31.255.255', '192.168.1.1', 'fc00::1', 'fdff::1']],
  ['a private address', ['100.64.0.1', '100.127.255.255']],
  ['a link-local address', ['169.254.0.1', '169.254.170.2', 'fe80::1', 'febf::1', 'fe80::1%eth0']],
  [
    'a cloud metadata address',
    ['169.254.169.254', '100.100.100.200', '168.63.129.16', 'fd00:ec2::254', 'fd20:ce::254'],
  ],
  ['a multicast address', ['224.0.0.1', '239.255.255.255', 'ff02::1']],
  ['an address reserved for documentation', ['192.0.2.1', '198.51.100.1', '203.0.113.1', '2001:db8::1', '3fff::1']],
  ['a reserved address', ['0.0.0.0', '0.1.2.3', '192.0.0.8', '192.88.99.1', '198.18.0.1', '198.19.255.255']],
  [
    'a reserved address',
    ['240.0.0.1', '255.255.255.255', '::', '100::1', 'fec0::1', '2001::1', '64:ff9b:1::1', '4000::1'],
  ],
  ['an invalid IP address', ['', 'localhost', '127.1', '0x7f000001', '2130706433', '10.0.0.1 ', '::1::']],
])('%s is blocked: %j', (kind, addresses) => {
  const objections = addresses.map(findObjection)

  expect(objections).toEqual(addresses.map(() => kind))
})

test.each([
  ['mapped', '::ffff:10.0.0.1', '::ffff:a00:1', '0:0:0:0:0:FFFF:10.0.0.1'],
  ['compatible', '::10.0.0.1', '::a00:1'],
  ['translated', '::ffff:0:10.0.0.1'],
  ['NAT64', '64:ff9b::10.0.0.1', '64:ff9b::a00:1'],
  ['6to4', '2002:a00:1::', '2002:a00:1:1::5'],
])('an IPv4 address embedded in an IPv6 one (%s) is treated as the IPv4 address', (_, ...addresses) => {
  const byDefault = addresses.map(findObjection)
  const whenAllowed = addresses.map(createAddressRules({ allowLoopback: false, allow: ['10.0.0.1'] }))

  expect(byDefault).toEqual(addresses.map(() => 'a private address'))
  expect(whenAllowed).toEqual(addresses.map(() => undefined))
  expect(findObjection('::ffff:127.0.0.1')).toBe('a loopback address')
  expect(findObjection('64:ff9b::169.254.169.254')).toBe('a cloud metadata address')
})

test.each([
  ...['1.1.1.1', '9.255.255.255', '11.0.0.0', '100.63.255.255', '100.128.0.0', '126.255.255.255', '128.0.0.0'],
  ...['169.253.255.255', '169.255.0.0', '172.15.255.255', '172.32.0.0', '192.167.255.255', '192.169.0.0'],
  ...['198.17.255.255', '198.20.0.0', '223.255.255.255', '2606:4700::1111', '2001:200::1', '3ffe::1'],
  ...['::ffff:1.1.1.1', '64:ff9b::1.1.1.1', '2002:101:101::'],
])('%s is public and allowed', (address) => {
  expect(findObjection(address)).toBe(undefined)
})

test('loopback can be allowed on its own', () => {
  const rules = createAddressRules({ allowLoopback: true, allow: [] })

  expect(['127.0.0.1', '::1', '::ffff:127.0.0.1'].map(rules)).toEqual([undefined, undefined, undefined])
  expect(['10.0.0.1', '0.0.0.0', '::', '169.254.169.254'].map(rules)).not.toContain(undefined)
})

test('"private" allows private and carrier-grade NAT addresses, but not link-local, loopback or metadata ones', () => {
  const rules = createAddressRules({ allowLoopback: false, allow: ['private'] })

  const open = ['10.0.0.1', '172.16.0.1', '192.168.1.1', '100.64.0.1', 'fd12::1', '::ffff:10.0.0.1'].map(rules)
  const shut = ['169.254.169.254', '169.254.1.1', 'fe80::1', '127.0.0.1', '100.100.100.200', 'fd00:ec2::254'].map(rules)

  expect(open.every((objection) => objection === undefined)).toBe(true)
  expect(shut).not.toContain(undefined)
})

test('a range that the operator allows overrides every block, and allows nothing outside it', () => {
  const rules = createAddressRules({ allowLoopback: false, allow: ['10.1.0.0/16', 'fd00:1::/32', '169.254.169.254'] })

  expect(['10.1.2.3', 'fd00:1::5', '169.254.169.254'].map(rules)).toEqual([undefined, undefined, undefined])
  expect(['10.2.0.1', 'fd00:2::5', '169.254.169.253'].map(rules)).not.toContain(undefined)
})

test('an IPv6 range allows no IPv4 address, and vice versa', () => {
  const ipv6 = createAddressRules({ allowLoopback: false, allow: ['::/0'] })
  const ipv4 = createAddressRules({ allowLoopback: false, allow: ['0.0.0.0/0'] })

  expect([ipv6('fd00::1'), ipv6('10.0.0.1')]).toEqual([undefined, 'a private address'])
  expect([ipv4('10.0.0.1'), ipv4('fd00::1')]).toEqual([undefined, 'a private address'])
})

test.each([
  '',
  'public',
  'Private',
  '10.0.0.0/33',
  'fd00::/129',
  '10.0.0.0/',
  '10.0.0.0/8/8',
  '10.0.0/8',
  '10.0.0.0/-1',
  'fe80::%eth0/10',
])('an invalid allowed range, "%s", is refused with an error that names it', (entry) => {
  expect(() => createAddressRules({ allowLoopback: false, allow: [entry] })).toThrow(
    `"${entry}" is not an address range`,
  )
})
