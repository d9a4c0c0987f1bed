/**
 * Characters that a person does not see and a model reads: formatting, direction, tags, those that choose a variant, and
 * those that stand for nothing. A joiner between two letters or pictures, the first alternative, is how they are written.
 */
const unseen =
  /(?<=[^\p{ASCII}\p{Cf}])([\u200c\u200d])(?=[^\p{ASCII}\p{Cf}])|[\p{Cf}\p{Co}\p{Cn}\u2028\u2029\u115f\u1160\u3164\uffa0]|[\ufe00-\ufe0e]|[\u{e0100}-\u{e01ef}]/gu

/** The same text with what cannot be seen in it spelt out. */
export const visible = (text: string): string => text.replace(unseen, (found, joiner) => joiner ?? spelt(found))

const spelt = (character: string): string =>
  `⟨U+${(character.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, '0')}⟩`
