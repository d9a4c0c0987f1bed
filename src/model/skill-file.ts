import { parse, stringify } from 'yaml'
import { wholeSlice } from '../lib/characters.ts'
import { isObject } from '../lib/json.ts'
import { PlatformError } from './errors.ts'
import type { SkillDraft } from './skill.ts'

/** The `SKILL.md` file of a skill, with its path. */
export interface SkillFile {
  readonly path: string
  readonly content: string
}

/** The folder name of a skill: up to 64 lower-case letters, digits and dashes. */
export const folderOf = (name: string): string =>
  name
    .toLowerCase()
    .replaceAll(/[^a-z0-9]+/g, '-')
    .slice(0, 64)
    .replaceAll(/^-+|-+$/g, '') || 'skill'

/** Returns a unique folder name, numbered if necessary, and adds it to `taken`. */
export function takeFolder(wanted: string, taken: Set<string>): string {
  let folder = wanted
  for (let count = 2; taken.has(folder); count++) folder = `${wanted.slice(0, 60)}-${count}`
  taken.add(folder)
  return folder
}

/** Serializes a skill as a `SKILL.md` file: YAML front matter, then the procedure. */
export function printSkill({ name, summary, category, apps, content }: SkillDraft): SkillFile {
  const metadata = { ...(category && { category }), ...(apps.length > 0 && { apps: apps.join(', ') }) }
  const front = { name, description: summary, ...(Object.keys(metadata).length > 0 && { metadata }) }
  return { path: `${folderOf(name)}/SKILL.md`, content: `---\n${stringify(front)}---\n\n${content}` }
}

export interface ReadSkill {
  readonly draft: SkillDraft
  /** Fields of the front matter that are ignored. */
  readonly notTakenOver: readonly string[]
}

/** Parsing YAML is quadratic in the number of its fields. */
const longestFront = 16 * 1024

/** Parses a `SKILL.md` file. */
export function readSkill({ path, content }: SkillFile): ReadSkill {
  const wrong = (message: string) => new PlatformError('VALIDATION_FAILED', { errors: [{ path, message }] })
  const [, yaml, body = ''] = /^\uFEFF?---\r?\n([\s\S]*?)\r?\n---[ \t]*(?:\r?\n|$)([\s\S]*)$/.exec(content) ?? []
  if (yaml === undefined) throw wrong('must start with front matter between two "---" lines')
  if (yaml.length > longestFront) throw wrong(`has front matter of more than ${longestFront} characters`)
  const front = parseYaml(yaml, wrong)
  const { name, description, metadata, category: ownCategory, apps: ownApps, ...others } = front
  if (typeof name !== 'string' || name.trim() === '') throw wrong('has no "name" in its front matter')
  const { category: givenCategory, apps: givenApps, ...more } = isObject(metadata) ? metadata : {}
  const category = givenCategory ?? ownCategory
  const draft: SkillDraft = {
    name: wholeSlice(name.trim(), 200),
    summary: typeof description === 'string' ? wholeSlice(description, 2000) : '',
    category: typeof category === 'string' ? category : null,
    apps: listOf(givenApps ?? ownApps),
    content: body.replace(/^\r?\n/, ''),
    enabled: true,
  }
  return { draft, notTakenOver: [...Object.keys(others), ...Object.keys(more).map((field) => `metadata.${field}`)] }
}

function parseYaml(text: string, wrong: (message: string) => PlatformError): Record<string, unknown> {
  try {
    const value: unknown = parse(text, { maxAliasCount: 0 })
    if (isObject(value)) return value
  } catch {
    // Reported below.
  }
  throw wrong('has front matter that is not YAML')
}

const listOf = (value: unknown): string[] =>
  (Array.isArray(value) ? value.map(String) : typeof value === 'string' ? value.split(',') : [])
    .map((one) => one.trim())
    .filter((one) => one !== '' && one.length <= 64)
