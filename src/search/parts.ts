import { termsOf } from './words.ts'

/** A sentence with fewer different terms is a greeting or a remark. */
const fewestTerms = 3
const maxParts = 3

/** A request and, if it has several sentences, each of them: one may say what is wanted, and the others why. */
export function partsOf(request: string): readonly string[] {
  const sentences = request
    .slice(0, 2000)
    .split(/(?<=[.!?])\s+|\n+/)
    .map((sentence) => sentence.trim())
    .filter((sentence) => sentence !== '')
  if (sentences.length < 2) return [request]
  const telling = sentences.filter((sentence) => new Set(termsOf(sentence)).size >= fewestTerms)
  return [request, ...telling.slice(0, maxParts)]
}
