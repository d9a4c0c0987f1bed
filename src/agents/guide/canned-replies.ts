import type { Guide } from '../../model/guide.ts'
import { evaluateWhen, fillTemplate, type WhenFacts } from './when.ts'

/** The id that reports a reply which is not one of the allowed texts. */
export const notCanned = 'canned_reply'

/** The texts that can be sent now. One whose data is missing, such as the result of a tool that was not called, is left out. */
export const repliesFor = ({ canned_replies }: Pick<Guide, 'canned_replies'>, facts: WhenFacts): string[] =>
  canned_replies.flatMap(({ text, when }) => {
    if (when !== null && !evaluateWhen(when, facts).holds) return []
    const { value } = fillTemplate(text, facts)
    return typeof value === 'string' ? [value] : []
  })

export function repliesText(replies: readonly string[], mode: Guide['reply_mode']): string[] {
  if (replies.length === 0) return []
  const rule =
    mode === 'strict'
      ? 'Reply with exactly one of these texts, without any change or addition'
      : 'If one of these texts fits, reply with it without any change'
  return [`${rule}:\n${replies.map((text) => `- ${text}`).join('\n')}`]
}

const plain = (text: string) => text.replaceAll(/\s+/g, ' ').trim()

/** The allowed text that a draft is, apart from white space. */
export const cannedReply = (draft: string, replies: readonly string[]): string | undefined =>
  replies.find((text) => plain(text) === plain(draft))
