import { createHash, randomBytes } from 'node:crypto'
import { describe, expect, test } from 'vitest'
import { adminKey, startPlatform } from './kit.ts'

const authorization = `Bearer ${adminKey}`

describe('documents', () => {
  test('can be created, read, changed, listed by path and deleted', async () => {
    await using platform = await startPlatform()

    const made = await platform.post('/documents', { path: 'reports/q3.md', content: '# Q3', tags: { team: 'blue' } })
    await platform.post('/documents', { path: '/plans/q4.md', content: '' })
    const { id } = made.body

    expect(made).toMatchObject({
      status: 201,
      body: { id: expect.stringMatching(/^doc_/), path: '/reports/q3.md', size: 4, tags: { team: 'blue' } },
    })
    expect((await platform.get(`/documents/${id}`)).body.content).toBe('# Q3')
    expect((await platform.get('/documents?path_prefix=/reports/')).body).toMatchObject({ total: 1, data: [{ id }] })
    expect((await platform.get('/documents')).body.data[0]).not.toHaveProperty('content')
    expect((await platform.patch(`/documents/${id}`, { content: '# Q3, final' })).body).toMatchObject({
      content: '# Q3, final',
      tags: { team: 'blue' },
    })
    expect((await platform.patch(`/documents/${id}`, { path: '/plans/q4.md' })).status).toBe(409)
    expect((await platform.post('/documents', { path: '/reports/q3.md', content: '' })).status).toBe(409)
    expect((await platform.delete(`/documents/${id}`)).status).toBe(204)
    expect((await platform.get(`/documents/${id}`)).status).toBe(404)
  })

  test('are found by their words, best match first, whatever punctuation the query contains', async () => {
    await using platform = await startPlatform()
    const add = async (path: string, content: string) => (await platform.post('/documents', { path, content })).body.id
    const best = await add(
      '/refunds.md',
      'How refunds work. A refund is paid within five days. Refunds need a receipt.',
    )
    const some = await add('/shipping.md', 'Shipping takes a week. For a refund of shipping, ask.')
    await add('/other.md', 'Nothing of the kind')
    const search = async (query: string) => (await platform.post('/documents/search', { query })).body

    const found = await search('refunded?')
    expect(found.data.map(({ id }: { id: string }) => id)).toEqual([best, some])
    expect(found.data[0].snippet).toContain('**')
    expect((await search('" OR 1=1 -- refund*')).data).toHaveLength(2)
    expect((await search('((((')).data).toEqual([])
    expect((await search('shipping')).data[0].id).toBe(some)
  })

  test('are refused without a valid path', async () => {
    await using platform = await startPlatform()

    for (const path of ['', '/', '/a//b', '/a/../b', 'a/', '/a*', '/a\u0007', 'x'.repeat(1025)]) {
      expect((await platform.post('/documents', { path, content: '' })).status, path).toBe(400)
    }
    expect((await platform.post('/documents', { path: '/a', content: 'a\u0000b' })).status).toBe(400)
    expect((await platform.post('/documents', { path: '/a', content: '\ud800' })).status).toBe(400)
  })
})

describe('files', () => {
  test('can be created from text or base64, and read back whole or in part', async () => {
    await using platform = await startPlatform()

    const text = await platform.post('/files', { path: '/hello.txt', content: 'Olá' })
    const image = await platform.post('/files', {
      path: '/dot.png',
      content: 'AQL/',
      encoding: 'base64',
      content_type: 'image/png',
    })
    const download = await platform.fetch(`/api/v1/files/${image.body.id}/content`, { headers: { authorization } })

    expect(text).toMatchObject({
      status: 201,
      body: { id: expect.stringMatching(/^file_/), size: 4, content_type: 'text/plain; charset=utf-8' },
    })
    expect(Buffer.from(await download.arrayBuffer())).toEqual(Buffer.from([1, 2, 255]))
    expect(download.headers.get('content-type')).toBe('image/png')
    expect(download.headers.get('content-disposition')).toBe('attachment')
    expect((await platform.get(`/files/${text.body.id}/text`)).body).toEqual({
      content: 'Olá',
      encoding: 'utf8',
      start: 0,
      end: 4,
      size: 4,
    })
    expect((await platform.get(`/files/${image.body.id}/text?encoding=base64&start=1&length=1`)).body.content).toBe(
      'Ag==',
    )
    expect((await platform.post('/files', { path: '/x', content: '!!', encoding: 'base64' })).status).toBe(400)
    expect((await platform.post('/files', { path: '/hello.txt', content: '' })).status).toBe(409)
  })

  test('can be uploaded as a stream up to the size limit, and downloaded in ranges', async () => {
    await using platform = await startPlatform({ QM_FILE_LIMIT: '1000000' })
    const { id } = (await platform.post('/files', { path: '/big.bin', content_type: 'application/octet-stream' })).body
    const bytes = randomBytes(900_000)
    const put = (body: Buffer) =>
      platform.fetch(`/api/v1/files/${id}/content`, {
        method: 'PUT',
        headers: { authorization, 'content-type': 'application/octet-stream' },
        body: ReadableStream.from([body.subarray(0, 1000), body.subarray(1000)]) as unknown as ReadableStream<
          Uint8Array<ArrayBuffer>
        >,
        duplex: 'half',
      } as RequestInit)
    const range = (value: string) =>
      platform.fetch(`/api/v1/files/${id}/content`, { headers: { authorization, range: value } })

    const uploaded = await put(bytes)
    const tooBig = await put(randomBytes(1_000_001))
    const middle = await range('bytes=300000-300009')
    const end = await range('bytes=-5')

    expect(await uploaded.json()).toMatchObject({
      size: 900_000,
      sha256: createHash('sha256').update(bytes).digest('hex'),
    })
    expect(tooBig.status).toBe(413)
    expect(middle.status).toBe(206)
    expect(middle.headers.get('content-range')).toBe('bytes 300000-300009/900000')
    expect(Buffer.from(await middle.arrayBuffer())).toEqual(bytes.subarray(300_000, 300_010))
    expect(Buffer.from(await end.arrayBuffer())).toEqual(bytes.subarray(-5))
    expect((await range('bytes=900000-')).status).toBe(416)
    expect(Buffer.from(await (await range('')).arrayBuffer())).toEqual(bytes)
  })

  test('can be moved, tagged and deleted', async () => {
    await using platform = await startPlatform()
    const { id } = (await platform.post('/files', { path: '/a.txt', content: 'a' })).body

    expect((await platform.patch(`/files/${id}`, { path: '/b.txt', tags: { a: 'b' } })).body).toMatchObject({
      path: '/b.txt',
      tags: { a: 'b' },
      size: 1,
    })
    expect((await platform.get('/files')).body).toMatchObject({ total: 1, data: [{ id }] })
    expect((await platform.delete(`/files/${id}`)).status).toBe(204)
    expect((await platform.get(`/files/${id}/content`)).status).toBe(404)
  })
})
