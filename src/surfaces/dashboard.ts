import { createHash } from 'node:crypto'
import { existsSync } from 'node:fs'
import { readdir, readFile } from 'node:fs/promises'
import { extname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { gzip as gzipCallback } from 'node:zlib'

const gzip = promisify(gzipCallback)

const types: Readonly<Record<string, string>> = {
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.svg': 'image/svg+xml',
  '.png': 'image/png',
  '.woff2': 'font/woff2',
  '.txt': 'text/plain; charset=utf-8',
}

/** Scripts and styles of our own files alone: whatever markup gets into a page by way of a tool cannot run. */
const safety = {
  'content-security-policy': [
    "default-src 'none'",
    "script-src 'self'",
    "style-src 'self'",
    // Images that tools return. An image runs nothing, also not SVG with scripts in it.
    "img-src 'self' data:",
    "font-src 'self'",
    "connect-src 'self'",
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'none'",
  ].join('; '),
  'x-content-type-options': 'nosniff',
  'x-frame-options': 'DENY',
  'referrer-policy': 'no-referrer',
  'cross-origin-opener-policy': 'same-origin',
  vary: 'accept-encoding',
}

/** The pages that the dashboard has; what lies below each is its own to tell. */
const pages = new Set([
  ...['sign-in', 'tools', 'servers', 'calls', 'skills', 'access', 'settings'],
  ...['approvals', 'agents', 'generations', 'ai-providers', 'connections', 'webhooks', 'documents', 'files', 'help'],
])

interface Asset {
  readonly bytes: Buffer
  readonly zipped: Buffer
  readonly headers: Readonly<Record<string, string>>
}

/** Whether there is a dashboard to serve. */
export const isBuilt = (folder: URL): boolean => existsSync(new URL('index.html', folder))

/** Where programs ask, and what is wrong is told in JSON, also to people who look. */
const notForPeople = new Set(['api', 'mcp', 'assets', 'sample'])

export interface Dashboard {
  /** Nothing for a path that is not the dashboard's. */
  answer(request: Request): Promise<Response | undefined>
  /** For someone at a path that nobody has: a page that says so and leads on. Nothing for a program. */
  lost(request: Request): Promise<Response | undefined>
}

/** Serves the built dashboard from memory. */
export function dashboard(folder: URL): Dashboard {
  let loading: Promise<ReadonlyMap<string, Asset>> | undefined

  const load = async () => {
    loading ??= readAssets(fileURLToPath(folder))
    const assets = await loading
    // It may be built while we run.
    if (assets.size === 0) loading = undefined
    return assets
  }
  const answerPage = async (request: Request) => {
    const path = decoded(new URL(request.url).pathname)
    const isPage = path === '/' || (pages.has(firstOf(path)) && wantsPage(request))
    if (!isPage && !path.startsWith('/assets/') && path !== '/icon.svg') return undefined
    const assets = await load()
    if (assets.size === 0) return notBuilt()
    const asset = assets.get(isPage ? '/index.html' : path)
    return asset && answer(asset, request)
  }
  return {
    answer: answerPage,
    async lost(request) {
      if (request.method !== 'GET' || !wantsPage(request) || notForPeople.has(firstOf(new URL(request.url).pathname))) {
        return undefined
      }
      const page = (await load()).get('/index.html')
      return page && new Response(new Uint8Array(page.bytes), { status: 404, headers: page.headers })
    },
  }
}

const firstOf = (path: string) => path.split('/')[1] ?? ''

/** Some of our pages are called as some of our routes are. A browser that goes to a page says that it wants HTML. */
const wantsPage = ({ headers }: Request) => (headers.get('accept') ?? '').includes('text/html')

const decoded = (path: string) => {
  try {
    return decodeURIComponent(path)
  } catch {
    return path
  }
}

async function readAssets(folder: string): Promise<ReadonlyMap<string, Asset>> {
  const names = await readdir(folder, { recursive: true }).catch(() => [])
  const files = names.filter((name) => extname(name) in types).map((name) => name.replaceAll('\\', '/'))
  // Without its page the rest is of no use: it is just being built.
  if (!files.includes('index.html')) return new Map()
  return new Map(
    await Promise.all(files.map(async (name) => [`/${name}`, await readAsset(join(folder, name), name)] as const)),
  )
}

async function readAsset(file: string, name: string): Promise<Asset> {
  const bytes = await readFile(file)
  return {
    bytes,
    zipped: await gzip(bytes),
    headers: {
      ...safety,
      'content-type': types[extname(name)] as string,
      etag: `"${createHash('sha256').update(bytes).digest('base64url').slice(0, 22)}"`,
      // The names of these hold a hash of what is in them.
      'cache-control': name.startsWith('assets/') ? 'public, max-age=31536000, immutable' : 'no-cache',
    },
  }
}

function answer({ bytes, zipped, headers }: Asset, request: Request): Response {
  if (request.headers.get('if-none-match')?.includes(headers.etag as string)) {
    return new Response(null, { status: 304, headers })
  }
  const isZipped = /\bgzip\b/.test(request.headers.get('accept-encoding') ?? '') && zipped.length < bytes.length
  const body = isZipped ? zipped : bytes
  return new Response(request.method === 'HEAD' ? null : new Uint8Array(body), {
    headers: { ...headers, 'content-length': String(body.length), ...(isZipped && { 'content-encoding': 'gzip' }) },
  })
}

const notBuilt = () =>
  new Response(
    `<!doctype html><html lang="en"><meta charset="utf-8"><title>Quartermaster</title>
<h1>The dashboard is not built</h1>
<p>The platform runs, but the files of its dashboard are missing. Run <code>npm run build</code> in its folder and reload
this page; there is no need to restart. The <a href="/api/docs">reference of the API</a> is here already.</p></html>`,
    { status: 503, headers: { ...safety, 'content-type': 'text/html; charset=utf-8', 'cache-control': 'no-store' } },
  )
