import { expect, test } from 'vitest'
import { startPlatform, startService } from './kit.ts'
import { startProxy } from './proxy.ts'
import { startUpstream } from './upstream.ts'

test.each(['HTTP_PROXY', 'http_proxy'])(
  'with %s, all that the platform calls is called through the proxy',
  async (variable) => {
    await using proxy = await startProxy()
    await using service = await startService()
    await using upstream = await startUpstream()
    await using platform = await startPlatform({ [variable]: proxy.url, no_proxy: 'nothing.invalid' })
    const named = (url: string) => url.replace('127.0.0.1', 'service.invalid')
    const create = async (path: string, body: object) => {
      const created = await platform.post(path, { name: 'it', ...body })
      expect(created.status, JSON.stringify(created.body)).toBe(201)
      return `${path}/${created.body.id}`
    }
    const tool = await create('/tools', { parameters: {}, execute: { url: `${named(service.url)}/tool` } })
    const mcp = await create('/tools', { name: 'files', type: 'mcp', mcp: { url: named(upstream.url) } })
    const webhook = await create('/webhooks', { url: `${named(service.url)}/webhook`, events: ['*'] })
    const provider = { type: 'openai-compatible', base_url: `${named(service.url)}/model`, default_model: 'm' }
    const model = await create('/ai-providers', provider)

    const called = await platform.post(`${tool}/call`, { input: {} })
    const answered = await platform.post(`${mcp}/call`, { action: 'echo', input: { text: 'hi' } })
    await platform.post(`${webhook}/test`, {})
    await platform.post(`${model}/test`, {})

    expect([called.status, answered.status]).toEqual([200, 200])
    expect(service.received.map(({ url }) => url).sort()).toEqual(['/model/chat/completions', '/tool', '/webhook'])
    const hosts = new Set(proxy.requests.map((line) => new URL(line.split(' ')[1] ?? '').host))
    expect(hosts).toEqual(new Set([service.url, upstream.url].map((url) => new URL(named(url)).host)))
  },
)

test.each(['socks5://me:secret@proxy.test', 'http://'])(
  'a proxy that is not an HTTP proxy, %s, is refused at the start without its password',
  async (address) => {
    const start = startPlatform({ HTTPS_PROXY: address })

    await expect(start).rejects.toThrow('HTTPS_PROXY: must be the URL of an HTTP proxy')
    await expect(start).rejects.not.toThrow('secret')
  },
)
