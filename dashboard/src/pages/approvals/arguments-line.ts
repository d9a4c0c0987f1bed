import { plain } from './escape-invisible.ts'

export interface Argument {
  readonly name: string
  readonly value: string
  /** Whether it differs among the calls of the same action. */
  readonly differs: boolean
}

interface QueryState {
  readonly id: string
  readonly action: string
  readonly input: Readonly<Record<string, unknown>>
}

const longestName = 40
const longestValue = 60
const maxShown = 8

const cut = (text: string, maxLength: number) => (text.length > maxLength ? `${text.slice(0, maxLength)}…` : text)
const asText = (value: unknown) => (typeof value === 'string' ? value : (JSON.stringify(value) ?? ''))

/** The arguments of each call in one line. Those that differ among calls of the same action come first. */
export function argumentLines(calls: readonly QueryState[]): ReadonlyMap<string, readonly Argument[]> {
  const lines = new Map<string, readonly Argument[]>()
  for (const alike of Map.groupBy(calls, ({ action }) => action).values()) {
    const differing = new Set(alike.flatMap(({ input }) => Object.keys(input)).filter((name) => isVaried(alike, name)))
    for (const { id, input } of alike) {
      const all = Object.entries(input).map(([name, value]) => ({
        name: plain(cut(name, longestName)),
        value: plain(cut(asText(value).replaceAll(/\s+/g, ' '), longestValue)),
        differs: differing.has(name),
      }))
      lines.set(id, [...all.filter((one) => one.differs), ...all.filter((one) => !one.differs)].slice(0, maxShown))
    }
  }
  return lines
}

const isVaried = (calls: readonly QueryState[], name: string) => {
  const textAt = ({ input }: QueryState) => (Object.hasOwn(input, name) ? JSON.stringify(input[name]) : undefined)
  const first = calls[0] && textAt(calls[0])
  return calls.some((call) => textAt(call) !== first)
}
