import { RegExpRouter } from 'hono/router/reg-exp-router'
import { SmartRouter } from 'hono/router/smart-router'
import { TrieRouter } from 'hono/router/trie-router'
import type { Handler, Params } from './exchange.ts'

export interface Route {
  readonly method: string
  /** `/tools/:id/call`. A final `*` matches any rest. */
  readonly path: string
  readonly handle: Handler
}

export interface Match {
  readonly handle: Handler
  readonly params: Params
}

/** A cache: clients request the same few paths. */
const maxKnown = 1000

/** Finds the handler for a request. The first matching route wins. */
export function createRouter(routes: readonly Route[]): (method: string, path: string) => Match | undefined {
  const router = new SmartRouter<Handler>({ routers: [new RegExpRouter(), new TrieRouter()] })
  for (const { method, path, handle } of routes) router.add(method, path, handle)
  const known = new Map<string, Match>()
  return (method, path) => {
    const key = `${method} ${path}`
    const before = known.get(key)
    if (before) return before
    const [handlers, values] = router.match(method, path)
    const [first] = handlers
    if (!first) return undefined
    const [handle, places] = first
    const match = { handle, params: paramsOf(places, values) }
    if (known.size === maxKnown) known.clear()
    known.set(key, match)
    return match
  }
}

function paramsOf(places: Record<string, number | string>, values: readonly string[] | undefined): Params {
  const params: Record<string, string> = {}
  for (const name in places) {
    const at = places[name]
    params[name] = decoded(typeof at === 'number' ? (values?.[at] ?? '') : (at ?? ''))
  }
  return params
}

function decoded(text: string): string {
  if (!text.includes('%')) return text
  try {
    return decodeURIComponent(text)
  } catch {
    return text
  }
}
