/**
 * Follows a JSON object from its opening brace, and finds where it ends. Only strings and brackets are followed:
 * `JSON.parse` decides whether the text between them is valid. A `<` outside a string and a control character inside one
 * are never valid, so a broken object is noticed at the next tag or line. This keeps a message with many broken objects
 * linear.
 */
export class JsonEnd {
  #depth = 0
  #inString = false
  #escaped = false

  take(code: number): 'open' | 'ended' | 'invalid' {
    if (this.#inString) return this.#takeInString(code)
    switch (code) {
      case quote:
        this.#inString = true
        return 'open'
      case openBrace:
      case openBracket:
        this.#depth++
        return 'open'
      case closeBrace:
      case closeBracket:
        this.#depth--
        return this.#depth === 0 ? 'ended' : 'open'
      default:
        return code === less ? 'invalid' : 'open'
    }
  }

  #takeInString(code: number): 'open' | 'invalid' {
    if (code < space) return 'invalid'
    if (this.#escaped) this.#escaped = false
    else if (code === backslash) this.#escaped = true
    else if (code === quote) this.#inString = false
    return 'open'
  }
}

const quote = 0x22
const backslash = 0x5c
const openBrace = 0x7b
const closeBrace = 0x7d
const openBracket = 0x5b
const closeBracket = 0x5d
const less = 0x3c
const space = 0x20
