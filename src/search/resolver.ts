import { setImmediate } from 'node:timers/promises'
import type { ServerAction, ServerCatalogue } from '../catalogue/server-catalogue.ts'
import { isObject } from '../lib/json.ts'
import type { Principal } from '../model/principal.ts'
import type { Action } from '../model/tool.ts'
import { indexAction, type SearchableAction } from './indexed-action.ts'
import { Index } from './postings.ts'
import { type Candidate, rank } from './rank.ts'
import { type Scope, scopeOf } from './scope.ts'
import type { SearchState, SemanticIndex } from './semantic-index.ts'
import { inSlices } from './slices.ts'
import type { Vectors } from './vectors.ts'

/** A matching action, as the server offers it. */
export interface ActionMatch extends Omit<Candidate, 'id'> {
  readonly action: ServerAction
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
  readonly index: Index
  readonly ids: Uint32Array
  readonly byId: ReadonlyMap<number, ServerAction>
  readonly views: WeakMap<Principal, Promise<Scope>>
  /** Shared by all callers who can use every action, which is the common case. */
  all?: Promise<Scope>
}

/** Semantic search is used once this share of the vectors is available. */
const enough = 0.95
/** How many removed actions may stay in the index before it is rebuilt. */
const maxGone = 10_000

/**
 * Finds the actions that match requests in natural language. One index serves all servers and callers, and each caller
 * searches only its own scope. Keywords work immediately, vectors as soon as the model has computed them.
 */
export class Resolver {
  readonly #semantic: SemanticIndex | undefined
  #index = new Index()
  #numbers = new WeakMap<Action, number>()
  readonly #sizes = new Map<string, number>()
  readonly #placed = new WeakMap<ServerCatalogue, Promise<IndexedServer>>()
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
  }

  /** The matching actions for each request, best first. */
  async find(
    requests: readonly string[],
    caller: SearchCaller,
    most: number,
  ): Promise<readonly (readonly ActionMatch[])[]> {
    const placed = await this.#place(caller.serverId, caller.catalogue)
    const scope = await this.#view(placed, caller)
    const vectors = this.#semantic?.of(placed.index)
    const hasMeaning = vectors !== undefined && this.#isKnown(scope, vectors)
    const embedded = hasMeaning ? await this.#semantic?.embed(requests) : undefined
    const answers: ActionMatch[][] = []
    for (const [at, request] of requests.entries()) {
      if (at > 0) await setImmediate()
      const vector = embedded?.[at]
      const fits = vector && vectors && vector.length === vectors.size
      const ranked = rank(request, placed.index, scope, fits ? { vector, vectors } : undefined)
      answers.push(
        ranked.slice(0, most).map(({ id, ...rest }) => ({ ...rest, action: placed.byId.get(id) as ServerAction })),
      )
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

  #place(serverId: string, catalogue: ServerCatalogue): Promise<IndexedServer> {
    let placed = this.#placed.get(catalogue)
    if (!placed) {
      placed = this.#add(catalogue, serverId)
      placed.catch(() => this.#placed.delete(catalogue))
      this.#placed.set(catalogue, placed)
    }
    return placed
  }

  async #add({ all }: ServerCatalogue, serverId: string): Promise<IndexedServer> {
    this.#sizes.set(serverId, all.length)
    const alive = [...this.#sizes.values()].reduce((sum, size) => sum + size, 0)
    if (this.#index.size > 2 * alive + maxGone) {
      this.#index = new Index()
      this.#numbers = new WeakMap()
    }
    const index = this.#index
    const numbers = this.#numbers
    const ids = new Uint32Array(all.length)
    const byId = new Map<number, ServerAction>()
    const added: number[] = []
    for await (const some of inSlices(all)) {
      for (const action of some) {
        let id = numbers.get(action.action)
        if (id === undefined) {
          id = index.add(indexAction(subjectOf(action)))
          numbers.set(action.action, id)
          added.push(id)
        }
        ids[byId.size] = id
        byId.set(id, action)
      }
    }
    this.#semantic?.want(index, added)
    return { index, ids, byId, views: new WeakMap() }
  }

  #view(placed: IndexedServer, caller: SearchCaller): Promise<Scope> {
    let view = placed.views.get(caller.principal)
    if (!view) {
      view = look(placed, caller)
      view.catch(() => placed.views.delete(caller.principal))
      placed.views.set(caller.principal, view)
    }
    return view
  }
}

async function look(placed: IndexedServer, { may }: SearchCaller): Promise<Scope> {
  const { index, ids, byId } = placed
  const allowed: number[] = []
  for await (const some of inSlices(ids)) {
    for (const id of some) if (may(byId.get(id) as ServerAction)) allowed.push(id)
  }
  if (allowed.length < ids.length) return scopeOf(index, Uint32Array.from(allowed))
  placed.all ??= scopeOf(index, ids)
  return placed.all
}

/** A description this short is usually the name of the app. */
const longestName = 4

export function subjectOf({ tool, action, prepared }: ServerAction): SearchableAction {
  const { title, annotations } = action.definition ?? {}
  const hint = isObject(annotations) ? annotations.title : undefined
  const about = action.namespace === 'tools' ? '' : (tool.description ?? '')
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
