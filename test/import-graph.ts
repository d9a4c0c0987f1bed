import { readFileSync } from 'node:fs'

/** Everything that a file imports when it is loaded, directly or indirectly: files of this repository, and packages. */
export function importGraph(entry: string): { files: string[]; others: string[] } {
  const files = new Set<string>()
  const others = new Set<string>()
  const visit = (url: URL) => {
    const path = decodeURIComponent(url.pathname)
    if (files.has(path)) return
    files.add(path)
    const source = readFileSync(url, 'utf8')
    // Type imports are erased, and import() is loaded only when that line runs.
    for (const [, target = ''] of source.matchAll(/^(?:import|export)\s(?!type\s)(?:[^'"]*?from\s+)?'([^']+)'/gm)) {
      if (target.startsWith('.')) visit(new URL(target, url))
      else others.add(target)
    }
  }
  visit(new URL(`../${entry}`, import.meta.url))
  const root = new URL('..', import.meta.url).pathname
  return { files: [...files].map((path) => path.slice(root.length)), others: [...others] }
}
