/**
 * Invisible characters and characters that reorder text. They can make an argument look like another one.
 * Line breaks and tabs are kept.
 */
const invisiblePattern = /(?![\n\r\t])[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu

/** The text with invisible characters escaped. */
export const plain = (text: string): string =>
  text.replace(invisiblePattern, (character) => `\\u{${character.codePointAt(0)?.toString(16)}}`)

export const hides = (text: string): boolean => text.search(invisiblePattern) >= 0
