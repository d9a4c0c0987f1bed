import { readFileSync } from 'node:fs'

/** Everything that a file imports when it is loaded, and what that imports in turn: files of ours and names of others'. */
export function importGraph(entry: string): { files: string[]; others: string[] } {
  const files = new Set<string>()
  const others = new Set<string>()
  const visit = (url: URL) => {
    const path = decodeURIComponent(url.pathname)
    if (files.has(path)) return
    files.add(path)
    const source = readFileSync(url, 'utf8')
    // Types are gone when the file runs, and what is in import() is loaded only when that line is reached.
    for (const [, target = ''] of source.matchAll(/^(?:import|export)\s(?!type\s)(?:[^'"]*?from\s+)?'([^']+)'/gm)) {
      if (target.startsWith('.')) visit(new URL(target, url))
      else others.add(target)
    }
  }
  visit(new URL(`../${entry}`, import.meta.url))
  const root = new URL('..', import.meta.url).pathname
  return { files: [...files].map((path) => path.slice(root.length)), others: [...others] }
}
