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

/** Only our own scripts and styles run, so markup that a tool injects into a page is harmless. */
const safety = {
  'content-security-policy': [
    "default-src 'none'",
    "script-src 'self'",
    "style-src 'self'",
    // For images that tools return. Scripts in an SVG image do not run.
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

interface Asset {
  readonly bytes: Buffer
  readonly zipped: Buffer
  readonly headers: Readonly<Record<string, string>>
}

export const isBuilt = (folder: URL): boolean => existsSync(new URL('index.html', folder))

/** API paths, below which errors are always JSON. */
const apiPrefixes = new Set(['api', 'mcp', 'connect', 'assets', 'sample', 'oauth', '.well-known'])

export interface Dashboard {
  /** Serves the dashboard's files, and its page to browsers. Returns false for any other request. */
  serve(exchange: Exchange): Promise<boolean>
}

/** Serves the built dashboard from memory. */
export function dashboard(folder: URL): Dashboard {
  let loading: Promise<ReadonlyMap<string, Asset>> | undefined

  const load = async () => {
    loading ??= readAssets(fileURLToPath(folder))
    const assets = await loading
    // Retry next time: the dashboard may be built while the platform runs.
    if (assets.size === 0) loading = undefined
    return assets
  }
  return {
    async serve(exchange) {
      const path = decoded(exchange.path)
      const isFile = path.startsWith('/assets/') || path === '/icon.svg'
      if (!isFile && !isPage(path, exchange)) return false
      const assets = await load()
      const asset = assets.get(isFile ? path : '/index.html')
      if (assets.size === 0) sendNotBuilt(exchange)
      else if (asset) sendAsset(exchange, asset)
      return assets.size === 0 || asset !== undefined
    },
  }
}

/**
 * Every path that a browser opens is a page, because only the dashboard's router knows which pages exist. Navigating
 * browsers accept HTML; API clients on a path of the same name do not.
 */
const isPage = (path: string, { headers }: Exchange) =>
  path === '/' || (!apiPrefixes.has(path.split('/')[1] ?? '') && (headers.accept ?? '').includes('text/html'))

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
  // Without index.html a build is in progress, and the other files are useless.
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
      // These file names contain a content hash.
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
<p>The platform is running, but the dashboard files are missing. Run <code>npm run build</code> in the platform’s folder and reload
this page; there is no need to restart. The <a href="/api/docs">API reference</a> is available.</p></html>`,
  )
