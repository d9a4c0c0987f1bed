import { setImmediate } from 'node:timers/promises'
import type { Shelf, Shelved } from '../catalogue/shelf.ts'
import { isObject } from '../lib/json.ts'
import type { Principal } from '../model/principal.ts'
import type { Action } from '../model/tool.ts'
import type { Meanings, SearchState } from './meanings.ts'
import { Index } from './postings.ts'
import { profileOf, type Subject } from './profile.ts'
import { type Candidate, rank } from './rank.ts'
import { inSlices } from './slices.ts'
import type { Vectors } from './vectors.ts'
import { type View, viewOf } from './view.ts'

/** An action that may be the one that is meant, as the server offers it. */
export interface Found extends Omit<Candidate, 'id'> {
  readonly shelved: Shelved
}

/** Who asks, at which server, and what of it they may call. */
export interface Asker {
  readonly serverId: string
  readonly shelf: Shelf
  readonly principal: Principal
  may(shelved: Shelved): boolean
}

/** A shelf in the index: the number of each of its actions, in its order. */
interface Placed {
  readonly index: Index
  readonly ids: Uint32Array
  readonly byId: ReadonlyMap<number, Shelved>
  readonly views: WeakMap<Principal, Promise<View>>
  /** The view of those who may use all of it, who are many. */
  all?: Promise<View>
}

/** With so few vectors missing, it is better to search by meaning than not. */
const enough = 0.95
/** How many actions that are gone may stay in the index. */
const mostGone = 10_000

/**
 * Finds the actions that fit requests in words. One index serves all servers and callers, each in a view of their own;
 * words are searched at once, meanings as soon as the model has them.
 */
export class Resolver {
  readonly #meanings: Meanings | undefined
  #index = new Index()
  #numbers = new WeakMap<Action, number>()
  readonly #sizes = new Map<string, number>()
  readonly #placed = new WeakMap<Shelf, Promise<Placed>>()
  /** Views of whose actions nearly all vectors are there, with those vectors. */
  readonly #known = new WeakMap<View, Vectors>()

  constructor(meanings: Meanings | undefined) {
    this.#meanings = meanings
  }

  get state(): SearchState {
    return this.#meanings?.state ?? { mode: 'words' }
  }

  /** Reads the actions of a server before anyone asks, so that whoever asks first does not wait. */
  async prepare(serverId: string, shelf: Shelf): Promise<void> {
    await this.#place(serverId, shelf)
  }

  /** For each request the actions that may be meant, best first. */
  async find(requests: readonly string[], asker: Asker, most: number): Promise<readonly (readonly Found[])[]> {
    const placed = await this.#place(asker.serverId, asker.shelf)
    const view = await this.#view(placed, asker)
    const vectors = this.#meanings?.of(placed.index)
    const hasMeaning = vectors !== undefined && this.#isKnown(view, vectors)
    const asked = hasMeaning ? await this.#meanings?.ask(requests) : undefined
    const answers: Found[][] = []
    for (const [at, request] of requests.entries()) {
      if (at > 0) await setImmediate()
      const vector = asked?.[at]
      const fits = vector && vectors && vector.length === vectors.size
      const ranked = rank(request, placed.index, view, fits ? { vector, vectors } : undefined)
      answers.push(
        ranked.slice(0, most).map(({ id, ...rest }) => ({ ...rest, shelved: placed.byId.get(id) as Shelved })),
      )
    }
    return answers
  }

  /** Vectors are never taken away, so what was known once need not be counted again. */
  #isKnown(view: View, vectors: Vectors): boolean {
    if (this.#known.get(view) === vectors) return true
    let known = 0
    for (const id of view.ids) if (vectors.has(id)) known++
    const isKnown = known > 0 && known >= enough * view.ids.length
    if (isKnown) this.#known.set(view, vectors)
    return isKnown
  }

  #place(serverId: string, shelf: Shelf): Promise<Placed> {
    let placed = this.#placed.get(shelf)
    if (!placed) {
      placed = this.#add(shelf, serverId)
      placed.catch(() => this.#placed.delete(shelf))
      this.#placed.set(shelf, placed)
    }
    return placed
  }

  async #add({ all }: Shelf, serverId: string): Promise<Placed> {
    this.#sizes.set(serverId, all.length)
    const alive = [...this.#sizes.values()].reduce((sum, size) => sum + size, 0)
    if (this.#index.size > 2 * alive + mostGone) {
      this.#index = new Index()
      this.#numbers = new WeakMap()
    }
    const index = this.#index
    const numbers = this.#numbers
    const ids = new Uint32Array(all.length)
    const byId = new Map<number, Shelved>()
    const added: number[] = []
    for await (const some of inSlices(all)) {
      for (const shelved of some) {
        let id = numbers.get(shelved.action)
        if (id === undefined) {
          id = index.add(profileOf(subjectOf(shelved)))
          numbers.set(shelved.action, id)
          added.push(id)
        }
        ids[byId.size] = id
        byId.set(id, shelved)
      }
    }
    this.#meanings?.want(index, added)
    return { index, ids, byId, views: new WeakMap() }
  }

  #view(placed: Placed, asker: Asker): Promise<View> {
    let view = placed.views.get(asker.principal)
    if (!view) {
      view = look(placed, asker)
      view.catch(() => placed.views.delete(asker.principal))
      placed.views.set(asker.principal, view)
    }
    return view
  }
}

async function look(placed: Placed, { may }: Asker): Promise<View> {
  const { index, ids, byId } = placed
  const allowed: number[] = []
  for await (const some of inSlices(ids)) {
    for (const id of some) if (may(byId.get(id) as Shelved)) allowed.push(id)
  }
  if (allowed.length < ids.length) return viewOf(index, Uint32Array.from(allowed))
  placed.all ??= viewOf(index, ids)
  return placed.all
}

/** People seldom describe an app in so few words; they name it. */
const longestName = 4

export function subjectOf({ tool, action, offer }: Shelved): Subject {
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
    schema: offer.shown,
  }
}
