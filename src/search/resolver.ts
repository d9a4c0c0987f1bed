import { setImmediate, setTimeout } from 'node:timers/promises'
import type { ServerAction, ServerCatalogue } from '../catalogue/server-catalogue.ts'
import { isObject } from '../lib/json.ts'
import { inSlices } from '../lib/slices.ts'
import type { Principal } from '../model/principal.ts'
import type { SearchableAction } from './indexed-action.ts'
import { NumberedIndex } from './numbers.ts'
import { partsOf } from './parts.ts'
import type { Index } from './postings.ts'
import { type Candidate, rankParts } from './rank.ts'
import { type Scope, scopeOf } from './scope.ts'
import type { SearchState, SemanticIndex } from './semantic-index.ts'
import type { Vectors } from './vectors.ts'

/** A matching action, as the server offers it. */
export interface ActionMatch extends Omit<Candidate, 'id'> {
  readonly action: ServerAction
}

/** The matching actions for a request, best first. */
export interface ActionMatches {
  readonly matches: readonly ActionMatch[]
  /** The app that the request names, if the caller has no action of it. */
  readonly missingApp?: string
}

/** Who searches, on which server, and which of its actions they can call. */
export interface SearchCaller {
  readonly serverId: string
  readonly catalogue: ServerCatalogue
  readonly principal: Principal
  may(action: ServerAction): boolean
}

/** A server in the index: the number of each of its actions, in the server's order. */
interface IndexedServer {
  readonly catalogue: ServerCatalogue
  readonly index: Index
  readonly ids: Uint32Array
  readonly byId: ReadonlyMap<number, ServerAction>
  readonly tools: ReadonlySet<string>
  readonly views: WeakMap<Principal, Promise<Scope>>
  /** Callers who can use every tool. */
  readonly unlimited: WeakSet<Principal>
  /** Shared by all callers who can use every action, which is the common case. */
  all?: Promise<Scope>
}

/** Semantic search is used once this share of the vectors is available. */
const enough = 0.95
/** How many removed actions may stay in the index before it is rebuilt. */
const maxGone = 10_000
/** How long the previous index of a server stays in use while the vectors of new actions are computed. */
const longestWait = 10_000

/**
 * Finds the actions that match requests in natural language. One index serves all servers and callers, and each caller
 * searches only its own scope. Keywords work immediately, vectors as soon as the model has computed them.
 *
 * A server that is searched again with another catalogue is indexed again. If its tools are the same and only the list of an
 * upstream server is new, the previous index serves until the new one is complete, so that no search waits for it.
 */
export class Resolver {
  readonly #semantic: SemanticIndex | undefined
  #numbered = new NumberedIndex()
  readonly #placed = new WeakMap<ServerCatalogue, Promise<IndexedServer>>()
  readonly #current = new Map<string, IndexedServer>()
  /** Scopes with enough vectors, and those vectors. */
  readonly #known = new WeakMap<Scope, Vectors>()

  constructor(semantic: SemanticIndex | undefined) {
    this.#semantic = semantic
  }

  get state(): SearchState {
    return this.#semantic?.state ?? { mode: 'words' }
  }

  /** Indexes the actions of a server in advance, so that the first search does not wait. */
  async prepare(serverId: string, catalogue: ServerCatalogue): Promise<void> {
    await this.#place(serverId, catalogue)
    await this.#compact()
  }

  /** Releases the actions of all other servers. They are indexed again when they are searched. */
  keepOnly(serverIds: ReadonlySet<string>): void {
    for (const id of this.#current.keys()) if (!serverIds.has(id)) this.#current.delete(id)
  }

  /** The matching actions for each request, best first. */
  async find(requests: readonly string[], caller: SearchCaller, most: number): Promise<readonly ActionMatches[]> {
    const placed = await this.#serving(caller)
    const scope = await this.#view(placed, caller)
    const vectors = this.#semantic?.of(placed.index)
    const hasMeaning = vectors !== undefined && this.#isKnown(scope, vectors)
    const parts = requests.map(partsOf)
    const embedded = hasMeaning ? await this.#semantic?.embed(parts.flat()) : undefined
    const answers: ActionMatches[] = []
    let asked = 0
    for (const [at, texts] of parts.entries()) {
      if (at > 0) await setImmediate()
      const read = texts.map((text) => {
        const vector = embedded?.[asked++]
        const fits = vector && vectors && vector.length === vectors.size
        return { text, meaning: fits ? { vector, vectors } : undefined }
      })
      const { found, missingApp } = rankParts(read, placed.index, scope)
      const matches = found.slice(0, most)
      answers.push({
        matches: matches.map(({ id, ...rest }) => ({ ...rest, action: placed.byId.get(id) as ServerAction })),
        ...(missingApp !== undefined && { missingApp }),
      })
    }
    return answers
  }

  /** Vectors are never removed, so a positive result stays valid. */
  #isKnown(scope: Scope, vectors: Vectors): boolean {
    if (this.#known.get(scope) === vectors) return true
    let known = 0
    for (const id of scope.ids) if (vectors.has(id)) known++
    const isKnown = known > 0 && known >= enough * scope.ids.length
    if (isKnown) this.#known.set(scope, vectors)
    return isKnown
  }

  #serving({ serverId, catalogue }: SearchCaller): IndexedServer | Promise<IndexedServer> {
    const current = this.#current.get(serverId)
    if (current?.catalogue === catalogue) return current
    const next = this.#place(serverId, catalogue)
    return current?.catalogue.version === catalogue.version ? current : next
  }

  #place(serverId: string, catalogue: ServerCatalogue): Promise<IndexedServer> {
    let placed = this.#placed.get(catalogue)
    if (!placed) {
      placed = this.#replace(serverId, catalogue)
      placed.catch(() => this.#placed.delete(catalogue))
      this.#placed.set(catalogue, placed)
    }
    return placed
  }

  async #replace(serverId: string, catalogue: ServerCatalogue): Promise<IndexedServer> {
    const before = this.#current.get(serverId)
    const placed = await this.#add(catalogue, before)
    if (before?.catalogue.version === catalogue.version) await this.#complete(placed)
    const { version = 0 } = this.#current.get(serverId)?.catalogue ?? {}
    if (version <= catalogue.version) this.#current.set(serverId, placed)
    return placed
  }

  async #add(catalogue: ServerCatalogue, before: IndexedServer | undefined): Promise<IndexedServer> {
    const numbered = this.#numbered
    const { index } = numbered
    const ids = new Uint32Array(catalogue.all.length)
    const byId = new Map<number, ServerAction>()
    const tools = new Set<string>()
    const added: number[] = []
    for await (const some of inSlices(catalogue.all)) {
      for (const action of some) {
        const { number, isNew } = numbered.numberOf(action, subjectOf)
        if (isNew) added.push(number)
        ids[byId.size] = number
        byId.set(number, action)
        tools.add(action.tool.id)
      }
    }
    this.#semantic?.want(index, added)
    // What a caller may use depends on the tools, not on their lists.
    const known = before?.index === index && before.catalogue.version === catalogue.version ? before : undefined
    if (known && isEqual(known.ids, ids)) return { ...known, catalogue, byId }
    const unlimited = known?.tools.isSupersetOf(tools) ? known.unlimited : new WeakSet<Principal>()
    return { catalogue, index, ids, byId, tools, unlimited, views: new WeakMap() }
  }

  /** Prepares what the first search would wait for, and waits for the vectors of new actions. */
  async #complete(placed: IndexedServer): Promise<void> {
    const scope = await allOf(placed)
    const vectors = this.#semantic?.of(placed.index)
    if (!this.#semantic || (vectors && this.#isKnown(scope, vectors))) return
    const late = new AbortController()
    const wait = setTimeout(longestWait, undefined, { ref: false, signal: late.signal }).catch(() => {})
    await Promise.race([this.#semantic.idle(), wait])
    late.abort()
  }

  /** Once most actions in the index are gone, all servers move to a new one. Until then, the old one serves. */
  async #compact(): Promise<void> {
    const alive = this.#current.values().reduce((sum, { ids }) => sum + ids.length, 0)
    if (this.#numbered.index.size <= 2 * alive + maxGone) return
    this.#numbered = new NumberedIndex()
    for (const [serverId, before] of [...this.#current]) {
      const placed = await this.#add(before.catalogue, undefined)
      await this.#complete(placed)
      if (this.#current.get(serverId) === before) this.#current.set(serverId, placed)
    }
  }

  #view(placed: IndexedServer, caller: SearchCaller): Promise<Scope> {
    let view = placed.views.get(caller.principal)
    if (!view) {
      view = placed.unlimited.has(caller.principal) ? allOf(placed) : look(placed, caller)
      view.catch(() => placed.views.delete(caller.principal))
      placed.views.set(caller.principal, view)
    }
    return view
  }
}

const allOf = (placed: IndexedServer): Promise<Scope> => {
  placed.all ??= scopeOf(placed.index, placed.ids)
  return placed.all
}

async function look(placed: IndexedServer, { principal, may }: SearchCaller): Promise<Scope> {
  const { index, ids, byId } = placed
  const allowed: number[] = []
  for await (const some of inSlices(ids)) {
    for (const id of some) if (may(byId.get(id) as ServerAction)) allowed.push(id)
  }
  if (allowed.length < ids.length) return scopeOf(index, Uint32Array.from(allowed))
  placed.unlimited.add(principal)
  return allOf(placed)
}

const isEqual = (some: Uint32Array, others: Uint32Array): boolean =>
  some.length === others.length && some.every((one, at) => one === others[at])

/** A description this short is usually the name of the app. */
const longestName = 4

export function subjectOf({ tool, action, prepared }: ServerAction): SearchableAction {
  const { title, annotations } = action.definition ?? {}
  const hint = isObject(annotations) ? annotations.title : undefined
  // A tool with one action has the description of that action.
  const isOwn = action.namespace !== 'tools' && tool.description !== action.description
  const about = isOwn ? (tool.description ?? '') : ''
  const isName = about !== '' && about.trim().split(/\s+/).length <= longestName
  return {
    app: action.app,
    appName: isName ? about : undefined,
    name: action.name,
    title: typeof title === 'string' ? title : typeof hint === 'string' ? hint : undefined,
    description: action.description,
    schema: prepared.publicSchema,
  }
}
