import { createHash } from 'node:crypto'
import type { ServerAction } from '../catalogue/server-catalogue.ts'
import type { Action } from '../model/tool.ts'
import { indexAction, type SearchableAction } from './indexed-action.ts'
import { Index } from './postings.ts'

/**
 * An index, and the number of each action in it. When an upstream server is listed again, its actions are new objects. An
 * action that did not change keeps its number, and with it its vectors.
 */
export class NumberedIndex {
  readonly index = new Index()
  readonly #numbers = new WeakMap<Action, number>()
  readonly #byId = new Map<string, { readonly number: number; readonly digest: string }>()

  /** The number of an action, which is added if it is new or has changed. */
  numberOf(one: ServerAction, subjectOf: (one: ServerAction) => SearchableAction): { number: number; isNew: boolean } {
    const known = this.#numbers.get(one.action)
    if (known !== undefined) return { number: known, isNew: false }
    const subject = subjectOf(one)
    const id = `${one.tool.id} ${one.action.id}`
    const digest = createHash('sha1').update(JSON.stringify(subject)).digest('base64')
    const before = this.#byId.get(id)
    const isNew = before?.digest !== digest
    const number = isNew ? this.index.add(indexAction(subject)) : (before as { number: number }).number
    if (isNew) this.#byId.set(id, { number, digest })
    this.#numbers.set(one.action, number)
    return { number, isNew }
  }
}
