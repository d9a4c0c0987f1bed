import type { Candidate } from './rank.ts'

/** Lower scores are not a match. */
const leastScore = 0.5
/** Scores within this ratio of the best are a tie, which the model resolves. */
const tie = 0.9
/** How many actions an answer can have for one request. */
export const maxAnswers = 3

/** The candidates that answer a request, out of all, best first. */
export function answerOf<C extends Pick<Candidate, 'score'>>(found: readonly C[]): readonly C[] {
  const [best] = found
  if (!best) return []
  return found.slice(0, maxAnswers).filter(({ score }) => score >= leastScore && odds(score) >= tie * odds(best.score))
}

const odds = (score: number) => score / (1 - score)
