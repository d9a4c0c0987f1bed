import type { Document } from 'yaml'

/**
 * The value of a parsed document, or why it has none: an alias without an anchor, or aliases that would expand to a huge
 * value. The parser does not report these.
 */
export function yamlValue(
  document: Pick<Document, 'toJS'>,
  maxAliasCount = 100,
): { readonly value: unknown; readonly fault?: undefined } | { readonly value?: undefined; readonly fault: string } {
  try {
    return { value: document.toJS({ maxAliasCount }) }
  } catch (error) {
    return { fault: error instanceof RangeError ? 'is nested too deeply' : (error as Error).message }
  }
}
