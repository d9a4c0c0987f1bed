import { expect, test } from 'vitest'
import { fillApp, findApp, listApps } from './apps.ts'

test('popular apps are known with their endpoints and scopes', () => {
  expect(findApp('github')).toMatchObject({
    name: 'GitHub',
    curated: true,
    authMethod: 'client_secret_post',
    server: {
      authorization_endpoint: 'https://github.com/login/oauth/authorize',
      token_endpoint: 'https://github.com/login/oauth/access_token',
      code_challenge_methods_supported: ['S256'],
    },
  })
  expect(listApps().filter(({ curated }) => curated).length).toBeGreaterThanOrEqual(25)
  expect(listApps().length).toBeGreaterThan(180)
})

test('no app is listed twice, and curated ones replace those of the public list', () => {
  const slugs = listApps().map(({ slug }) => slug)
  expect(new Set(slugs).size).toBe(slugs.length)
  expect(findApp('slack')?.server.token_endpoint).toBe('https://slack.com/api/oauth.v2.access')
  expect(findApp('twitter2')).toBeUndefined()
})

test.for(['', 'no-such-app', 'constructor', '__proto__', 'toString'])('there is no app "%s"', (slug) => {
  expect(findApp(slug)).toBeUndefined()
})

test('every URL of every app uses https and, once filled in, is valid', () => {
  for (const app of listApps()) {
    const { server } = fillApp(app, { subdomain: 'acme' })
    const urls = [server.issuer, server.authorization_endpoint, server.token_endpoint, server.quirks?.account?.url]
    for (const url of urls.filter((one) => one !== undefined)) {
      expect(url, app.slug).toMatch(/^https:\/\/[^{}[\]]+$/)
      expect(URL.canParse(url), app.slug).toBe(true)
    }
  }
})

test.for(['', 'evil.example/', 'a.b', 'a@b', '-a', 'a/b', 'a#', 'x'.repeat(64)])(
  'the subdomain of an app cannot lead elsewhere: %s',
  (subdomain) => {
    const shop = findApp('shopify')
    if (!shop) throw new Error('There is no preset for Shopify')
    expect(shop.placeholders).toEqual(['subdomain'])
    expect(() => fillApp(shop, { subdomain })).toThrow('needs a subdomain')
    expect(() => fillApp(shop, {})).toThrow('needs a subdomain')
    expect(fillApp(shop, { subdomain: 'acme' }).server.token_endpoint).toMatch('https://acme.myshopify.com/')
  },
)
