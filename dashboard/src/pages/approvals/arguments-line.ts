import { plain } from './plain.ts'

export interface Argument {
  readonly name: string
  readonly value: string
  /** Whether it tells the call apart from others of the same action. */
  readonly differs: boolean
}

interface Asked {
  readonly id: string
  readonly action: string
  readonly input: Readonly<Record<string, unknown>>
}

const longestName = 40
const longestValue = 60
const mostShown = 8

const cut = (text: string, most: number) => (text.length > most ? `${text.slice(0, most)}…` : text)
const asText = (value: unknown) => (typeof value === 'string' ? value : (JSON.stringify(value) ?? ''))

/** The arguments of each call in a line, those first that differ among the calls of one action. */
export function argumentLines(calls: readonly Asked[]): ReadonlyMap<string, readonly Argument[]> {
  const lines = new Map<string, readonly Argument[]>()
  for (const alike of Map.groupBy(calls, ({ action }) => action).values()) {
    const differing = new Set(alike.flatMap(({ input }) => Object.keys(input)).filter((name) => isVaried(alike, name)))
    for (const { id, input } of alike) {
      const all = Object.entries(input).map(([name, value]) => ({
        name: plain(cut(name, longestName)),
        value: plain(cut(asText(value).replaceAll(/\s+/g, ' '), longestValue)),
        differs: differing.has(name),
      }))
      lines.set(id, [...all.filter((one) => one.differs), ...all.filter((one) => !one.differs)].slice(0, mostShown))
    }
  }
  return lines
}

const isVaried = (calls: readonly Asked[], name: string) => {
  const textAt = ({ input }: Asked) => (Object.hasOwn(input, name) ? JSON.stringify(input[name]) : undefined)
  const first = calls[0] && textAt(calls[0])
  return calls.some((call) => textAt(call) !== first)
}
