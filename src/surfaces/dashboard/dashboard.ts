import { createHash } from 'node:crypto'
import { existsSync } from 'node:fs'
import { readdir, readFile } from 'node:fs/promises'
import { extname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { gzip as gzipCallback } from 'node:zlib'
import type { Exchange } from '../../server/exchange.ts'

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
  /** Answers what is the dashboard's; false for any other path. */
  serve(exchange: Exchange): Promise<boolean>
  /** For a person at a path that does not exist: a page that says so. False for a program. */
  serveNotFound(exchange: Exchange): Promise<boolean>
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
  return {
    async serve(exchange) {
      const path = decoded(exchange.path)
      const isPage = path === '/' || (pages.has(firstOf(path)) && wantsPage(exchange))
      if (!isPage && !path.startsWith('/assets/') && path !== '/icon.svg') return false
      const assets = await load()
      const asset = assets.get(isPage ? '/index.html' : path)
      if (assets.size === 0) sendNotBuilt(exchange)
      else if (asset) sendAsset(exchange, asset)
      return assets.size === 0 || asset !== undefined
    },
    async serveNotFound(exchange) {
      if (exchange.method !== 'GET' || !wantsPage(exchange) || notForPeople.has(firstOf(exchange.path))) return false
      const page = (await load()).get('/index.html')
      if (page) exchange.send(404, page.headers, page.bytes)
      return page !== undefined
    },
  }
}

const firstOf = (path: string) => path.split('/')[1] ?? ''

/** Some of our pages are called as some of our routes are. A browser that goes to a page says that it wants HTML. */
const wantsPage = ({ headers }: Exchange) => (headers.accept ?? '').includes('text/html')

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

function sendAsset(exchange: Exchange, { bytes, zipped, headers }: Asset): void {
  const isZipped = /\bgzip\b/.test(exchange.headers['accept-encoding'] ?? '') && zipped.length < bytes.length
  const isKnown = exchange.headers['if-none-match']?.includes(headers.etag as string)
  if (isKnown) exchange.send(304, headers)
  else if (isZipped) exchange.send(200, { ...headers, 'content-encoding': 'gzip' }, zipped)
  else exchange.send(200, headers, bytes)
}

const sendNotBuilt = (exchange: Exchange) =>
  exchange.send(
    503,
    { ...safety, 'content-type': 'text/html; charset=utf-8', 'cache-control': 'no-store' },
    `<!doctype html><html lang="en"><meta charset="utf-8"><title>Quartermaster</title>
<h1>The dashboard is not built</h1>
<p>The platform runs, but the files of its dashboard are missing. Run <code>npm run build</code> in its folder and reload
this page; there is no need to restart. The <a href="/api/docs">reference of the API</a> is here already.</p></html>`,
  )
