/** The guides of docs/guides, bundled with the dashboard, one file each. */
const files = import.meta.glob<string>('../../docs/guides/*.md', { query: '?raw', import: 'default' })

const prefix = '../../docs/guides/'
const nameOf = (file: string) => file.slice(prefix.length, -'.md'.length)

export const guideNames: readonly string[] = Object.keys(files).map(nameOf)

/** The text of a guide in Markdown. Undefined if there is no such guide. */
export const loadGuide = (name: string): Promise<string> | undefined => files[`${prefix}${name}.md`]?.()

/** Its first heading. */
export const titleOf = (text: string): string => /^#\s+(.+)$/m.exec(text)?.[1] ?? ''
