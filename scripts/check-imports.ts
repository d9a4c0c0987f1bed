/**
 * Checks that imports go from left to right only, and that there are no cycles:
 *
 *     surfaces ▶ server ▶ operations ▶ agents ▶ workflows ▶ webhooks ▶ dispatch ▶ catalogue ▶ tools ▶ credentials ▶ access ▶ jobs ▶ store ▶ model
 *
 * `main.ts`, `composition` and `cli` connect the parts, so they may import all of them. `sdk` imports only types from the others. The
 * dashboard imports only the SDK.
 */
import { globSync, readFileSync } from 'node:fs'
import { dirname, join, relative } from 'node:path'

/** From left to right. Folders in one group may import each other, as long as their files form no cycle. */
const order: readonly (readonly string[])[] = [
  ['surfaces'],
  ['server'],
  ['operations'],
  ['agents'],
  ['workflows'],
  ['webhooks'],
  ['approvals', 'dispatch'],
  ['catalogue', 'search'],
  ['tools'],
  ['mcp'],
  ['credentials'],
  ['http'],
  ['access'],
  ['store'],
  ['jobs'],
  ['db'],
  ['expressions'],
  ['json-schema'],
  ['model'],
  ['lib'],
  ['xml'],
]
const root = new URL('../src', import.meta.url).pathname
const statement =
  /^\s*(import|export)\s(type\s)?[^'"]*?from\s+'(\.[^']+)'|^\s*(import)\s+'(\.[^']+)'|import\('(\.[^']+)'\)/gm

interface Import {
  readonly to: string
  readonly typeOnly: boolean
}

const files = globSync('**/*.ts', { cwd: root }).filter((file) => !file.endsWith('.test.ts'))
const imports = new Map<string, Import[]>(
  files.map((file) => {
    const text = readFileSync(join(root, file), 'utf8')
    const found = [...text.matchAll(statement)].map((match) => ({
      to: relative(root, join(root, dirname(file), match[3] ?? match[5] ?? match[6] ?? '')),
      typeOnly: match[2] !== undefined,
    }))
    return [file, found]
  }),
)

const rankOf = (file: string) => order.findIndex((layers) => layers.includes(layerOf(file)))
const layerOf = (file: string) => (file.includes('/') ? (file.split('/')[0] as string) : 'main')
const problems: string[] = []

for (const [file, targets] of imports) {
  const from = rankOf(file)
  for (const { to, typeOnly } of targets) {
    const towards = rankOf(to)
    if (from >= 0 && (towards < 0 || towards < from)) problems.push(`${file} imports ${to}, which is to its left`)
    if (layerOf(file) === 'sdk' && layerOf(to) !== 'sdk' && !typeOnly)
      problems.push(`${file} imports ${to}: the SDK may import only types`)
  }
}

const done = new Set<string>()
function walk(file: string, path: readonly string[]): void {
  const start = path.indexOf(file)
  if (start >= 0) problems.push(`cycle: ${[...path.slice(start), file].join(' → ')}`)
  if (start >= 0 || done.has(file)) return
  for (const { to } of imports.get(file) ?? []) walk(to, [...path, file])
  done.add(file)
}
for (const file of files) walk(file, [])

const dashboard = new URL('../dashboard/src', import.meta.url).pathname
const pages = globSync('**/*.{ts,tsx}', { cwd: dashboard }).filter((file) => !file.includes('.test.'))
const packages = Object.keys(
  JSON.parse(readFileSync(join(dashboard, '../package.json'), 'utf8')).devDependencies as Record<string, string>,
)
for (const file of pages) {
  const text = readFileSync(join(dashboard, file), 'utf8')
  for (const [, from = '', lazy = ''] of text.matchAll(/from '([^']+)'|import\('([^']+)'\)/g)) {
    const to = from || lazy
    const isOwn = to.startsWith('.') && !relative(dashboard, join(dashboard, dirname(file), to)).startsWith('..')
    const isKnown = to === 'quartermaster/sdk' || packages.some((name) => to === name || to.startsWith(`${name}/`))
    if (!isOwn && !isKnown)
      problems.push(`dashboard/src/${file} imports ${to}, which is neither part of the dashboard nor the SDK`)
  }
}

for (const problem of problems) console.error(problem)
console.log(
  `${files.length + pages.length} files, ${[...imports.values()].flat().length} imports, ${problems.length} problems`,
)
process.exitCode = problems.length > 0 ? 1 : 0
