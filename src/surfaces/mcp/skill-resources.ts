import { type Skill as Entry, SkillsExtension, skillEntry } from '@modelcontextprotocol/server/ext/skills'
import { wholeSlice } from '../../lib/characters.ts'
import type { Skill } from '../../model/skill.ts'
import { folderOf, printSkill, takeFolder } from '../../model/skill-file.ts'
import { startOf } from './pages.ts'
import { textResult } from './results.ts'
import type { ServerRequest } from './server-request.ts'

const pageSize = 100
/** The limit of the skills extension. */
const longestDescription = 1024

/** How long a client may cache responses. */
const cacheHint = { ttlMs: 60_000, cacheScope: 'private' } as const

export interface Served {
  readonly path: string
  readonly uri: string
  readonly text: string
  readonly skill: Skill
}

/** Serves skills through the MCP skills extension: each is a folder with a `SKILL.md`. */
export const skillsExtension = (request: ServerRequest): SkillsExtension =>
  new SkillsExtension({
    cacheHint,
    // Its warnings about skills would be logged again with every request.
    onWarning: () => {},
    source: {
      async list({ cursor }) {
        const served = await servedBy(request)
        const start = startOf(cursor, served.length)
        const end = start + pageSize
        const skills = await Promise.all(served.slice(start, end).map(entryOf))
        return {
          skills: skills.filter((entry) => entry !== undefined),
          ...(end < served.length && { nextCursor: String(end) }),
        }
      },
      async get(uri) {
        const found = await findSkill(uri, request)
        return found && entryOf(found)
      },
      async read(uri) {
        const found = await findSkill(uri, request)
        return found && loadSkillResource(found, request)
      },
      listResources: () => skillResources(request),
    },
  })

const mimeType = 'text/markdown'

/** The skills as resources. */
export const skillResources = async (request: ServerRequest) =>
  (await servedBy(request)).map(({ uri, path: name, skill: { summary: description } }) => ({
    uri,
    name,
    description,
    mimeType,
  }))

export const findSkill = async (uri: string, request: ServerRequest): Promise<Served | undefined> =>
  (await servedBy(request)).find((one) => one.uri === uri)

/** Reads a skill, which is recorded. */
export async function loadSkillResource({ uri, text }: Served, request: ServerRequest) {
  await request.internal('LOAD_SKILL', { uri }, async () => textResult(text))
  return { text, mimeType }
}

/**
 * Undefined for a skill that breaks the rules of the extension, for example by its size. The others are still served.
 */
const entryOf = ({ path, text }: Served): Promise<Entry | undefined> =>
  skillEntry(path, { 'SKILL.md': text }).catch(() => undefined)

/** The extension requires the skill's name to match its folder. Duplicate names are numbered. */
async function servedBy(request: ServerRequest): Promise<Served[]> {
  const taken = new Set<string>()
  return [...(await request.skills())]
    .sort((a, b) => (a.id < b.id ? -1 : 1))
    .map((skill) => {
      const path = takeFolder(folderOf(skill.name), taken)
      const summary = wholeSlice(skill.summary.trim(), longestDescription) || skill.name
      const { content: text } = printSkill({ ...skill, name: path, summary })
      return { path, uri: `skill://${path}/SKILL.md`, text, skill }
    })
}
