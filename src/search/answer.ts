import type { Candidate } from './rank.ts'

/** Below this score, the best candidate is not a match. */
const leastScore = 0.5
/** Candidates whose odds are at least this share of the best's are close. The agent, which knows more, chooses. */
const close = Math.log(0.05)
/** How many actions an answer can have for one request. */
export const maxAnswers = 5

/** The candidates that answer a request, out of all, best first. One if it is clearly the best. */
export function answerOf<C extends Pick<Candidate, 'score' | 'logOdds'>>(found: readonly C[]): readonly C[] {
  const [best] = found
  if (!best || best.score < leastScore) return []
  return found.slice(0, maxAnswers).filter(({ logOdds }) => logOdds >= best.logOdds + close)
}
