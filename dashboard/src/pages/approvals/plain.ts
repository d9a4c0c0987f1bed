/**
 * Characters that are not seen, or that turn the order of others around: an argument could look like another with them.
 * Line breaks and tabs are text like any other.
 */
const unseen = /(?![\n\r\t])[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu

/** Text in which nothing hides. */
export const plain = (text: string): string =>
  text.replace(unseen, (character) => `\\u{${character.codePointAt(0)?.toString(16)}}`)

export const hides = (text: string): boolean => text.search(unseen) >= 0
