/** The names most similar to a wrong one: up to three with the same distance, and none that is too different. */
export function nearest(wrong: string, known: readonly string[]): string[] {
  const target = simple(wrong)
  const ranked = known
    .map((name) => ({ name, away: away(target, simple(name)) }))
    .filter(({ away }) => away <= mostAway(target.length))
    .sort((a, b) => a.away - b.away || (a.name < b.name ? -1 : 1))
  return ranked
    .filter(({ away }) => away === ranked[0]?.away)
    .slice(0, 3)
    .map(({ name }) => name)
}

/** How many letters may differ. In a short name, each one counts: "a" is no typo for "c". */
const mostAway = (length: number): number => (length < 3 ? 0 : length < 5 ? 1 : Math.max(2, Math.floor(length / 3)))

/** A suggestion for an unknown name: ` Did you mean "x" or "y"?`. Empty if no name is similar. */
export const didYouMean = (wrong: string, known: readonly string[], shown = quoted): string =>
  didYouMeanOneOf(nearest(wrong, known), shown)

/** The same for names that are already found. */
export const didYouMeanOneOf = (near: readonly string[], shown = quoted): string =>
  near.length > 0 ? ` Did you mean ${choice(near, shown)}?` : ''

/** The same in lower case, to append to the message of a fault: `; did you mean "x" or "y"?`. */
export function orDidYouMean(wrong: string, known: readonly string[]): string {
  const near = nearest(wrong, known)
  return near.length > 0 ? `; did you mean ${choice(near)}?` : ''
}

/** For names that are not quoted in messages, such as those of settings. */
export const unquoted = (name: string) => name

const quoted = (name: string) => `"${name}"`

const choice = (names: readonly string[], shown = quoted) => names.map(shown).join(' or ')

const away = (wrong: string, name: string) => (wrong.length > 2 && name.includes(wrong) ? 1 : distance(wrong, name))

const simple = (name: string) =>
  name
    .slice(0, 64)
    .toLowerCase()
    .replaceAll(/[^a-z0-9]/g, '')

/** The edit distance: how many letters are added, removed, changed or swapped with their neighbour. */
function distance(a: string, b: string): number {
  let before: number[] = []
  let row = Array.from({ length: b.length + 1 }, (_, index) => index)
  for (let i = 1; i <= a.length; i++) {
    const next = [i]
    for (let j = 1; j <= b.length; j++) {
      const change = a[i - 1] === b[j - 1] ? 0 : 1
      let least = Math.min((row[j] ?? 0) + 1, (next[j - 1] ?? 0) + 1, (row[j - 1] ?? 0) + change)
      if (i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1])
        least = Math.min(least, (before[j - 2] ?? 0) + 1)
      next.push(least)
    }
    before = row
    row = next
  }
  return row[b.length] ?? 0
}
