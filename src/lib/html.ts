import { escaped } from './escaped.ts'

const entities: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
}

/** Text for an HTML page or attribute. Characters that reorder text are made visible. */
export const html = (text: string): string =>
  escaped(text).replaceAll(/[&<>"']/g, (character) => entities[character] as string)
