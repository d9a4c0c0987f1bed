import { isObject } from '../model/json.ts'
import type { Shelved } from './shelf.ts'

export interface Found {
  readonly shelved: Shelved
  readonly score: number
}

/** Words that say the same about an action. */
const sameMeaning: readonly (readonly string[])[] = [
  ['get', 'list', 'read', 'fetch', 'find', 'search', 'retrieve', 'show', 'view', 'query', 'lookup'],
  ['create', 'add', 'new', 'make', 'insert', 'post', 'register'],
  ['update', 'edit', 'change', 'modify', 'set', 'patch'],
  ['delete', 'remove', 'destroy', 'cancel'],
  ['send', 'submit', 'publish'],
]
const meaning = new Map(sameMeaning.flatMap((words) => words.map((word) => [stem(word), `=${words[0]}`])))

/** `createContact`, `create_contact` and "Create contacts" all give the same words. */
function wordsOf(text: string): string[] {
  return text
    .replaceAll(/([a-z0-9])([A-Z])/g, '$1 $2')
    .toLowerCase()
    .split(/[^\p{L}\p{N}]+/u)
    .filter((word) => word.length > 1)
    .map(stem)
}

function stem(word: string): string {
  if (word.length > 4 && word.endsWith('ies')) return `${word.slice(0, -3)}y`
  if (word.length > 4 && /(ses|xes|ches|shes)$/.test(word)) return word.slice(0, -2)
  if (word.length > 3 && word.endsWith('s') && !word.endsWith('ss')) return word.slice(0, -1)
  return word
}

const weights = { name: 3, app: 3, description: 1, parameters: 0.5 } as const

/** The words of an action with what each is worth, by where it stands. */
function documentOf({ action, offer }: Shelved): Map<string, number> {
  const document = new Map<string, number>()
  const add = (text: string, weight: number) => {
    for (const word of wordsOf(text)) {
      document.set(word, Math.max(document.get(word) ?? 0, weight))
      const shared = meaning.get(word)
      if (shared) document.set(shared, Math.max(document.get(shared) ?? 0, weight * 0.8))
    }
  }
  add(action.name, weights.name)
  add(action.app, weights.app)
  add(action.description ?? '', weights.description)
  add(Object.keys(isObject(offer.shown.properties) ? offer.shown.properties : {}).join(' '), weights.parameters)
  return document
}

/** Which actions fit a request in words, best first. A plain search by words: rare ones count for more. */
export function search(query: string, shelved: readonly Shelved[]): Found[] {
  const documents = shelved.map(documentOf)
  const terms = [...new Set(wordsOf(query).flatMap((word) => [word, meaning.get(word) ?? word]))]
  const rarity = new Map(
    terms.map((term) => {
      const holding = documents.filter((document) => document.has(term)).length
      return [term, Math.log(1 + (documents.length - holding + 0.5) / (holding + 0.5))]
    }),
  )
  const own = terms.filter((term) => !term.startsWith('='))
  return documents
    .map((document, index) => {
      const score = terms.reduce((sum, term) => sum + (document.get(term) ?? 0) * (rarity.get(term) ?? 0), 0)
      const covered = own.filter((term) => document.has(term) || document.has(meaning.get(term) ?? '')).length
      return { shelved: shelved[index] as Shelved, score: score * (covered / Math.max(own.length, 1)), covered }
    })
    .filter(({ covered, score }) => score > 0 && covered >= Math.min(2, own.length))
    .sort((a, b) => b.score - a.score || (a.shelved.action.id < b.shelved.action.id ? -1 : 1))
}
