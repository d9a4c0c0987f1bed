/**
 * Characters that are invisible to people but read by models: formatting, direction, tags, variation selectors and
 * unassigned ones. A joiner between two letters or emoji, the first alternative, is legitimate.
 */
const invisiblePattern =
  /(?<=[^\p{ASCII}\p{Cf}])([\u200c\u200d])(?=[^\p{ASCII}\p{Cf}])|[\p{Cf}\p{Co}\p{Cn}\u2028\u2029\u115f\u1160\u3164\uffa0]|[\ufe00-\ufe0e]|[\u{e0100}-\u{e01ef}]/gu

/** The text with invisible characters replaced by their code points. */
export const visible = (text: string): string =>
  text.replace(invisiblePattern, (found, joiner) => joiner ?? codePointOf(found))

const codePointOf = (character: string): string =>
  `⟨U+${(character.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, '0')}⟩`
