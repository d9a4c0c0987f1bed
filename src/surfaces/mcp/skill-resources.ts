import { type Skill as Entry, SkillsExtension, skillEntry } from '@modelcontextprotocol/server/ext/skills'
import { wholeSlice } from '../../lib/characters.ts'
import type { Skill } from '../../model/skill.ts'
import { folderOf, printSkill, takeFolder } from '../../model/skill-file.ts'
import { startOf } from './pages.ts'
import { textResult } from './results.ts'
import type { Visit } from './visit.ts'

const pageSize = 100
/** Of a skill's description, by the extension's rules. */
const longestDescription = 1024

/** What a client may keep without asking again. */
const cacheHint = { ttlMs: 60_000, cacheScope: 'private' } as const

interface Served {
  readonly path: string
  readonly uri: string
  readonly text: string
  readonly skill: Skill
}

/** The skills of a server by the MCP skills extension: each is a folder with a `SKILL.md` in it. */
export const skillsExtension = (visit: Visit): SkillsExtension =>
  new SkillsExtension({
    cacheHint,
    // What it finds odd about a skill is not for the operator's console with every request.
    onWarning: () => {},
    source: {
      async list({ cursor }) {
        const served = await servedBy(visit)
        const start = startOf(cursor, served.length)
        const end = start + pageSize
        const skills = await Promise.all(served.slice(start, end).map(entryOf))
        return {
          skills: skills.filter((entry) => entry !== undefined),
          ...(end < served.length && { nextCursor: String(end) }),
        }
      },
      async get(uri) {
        const found = await find(uri, visit)
        return found && entryOf(found)
      },
      async read(uri) {
        const found = await find(uri, visit)
        if (!found) return undefined
        await visit.aside('LOAD_SKILL', { uri }, async () => textResult(found.text))
        return { text: found.text, mimeType: 'text/markdown' }
      },
      async listResources() {
        return (await servedBy(visit)).map(({ uri, path, skill: { summary } }) => ({
          uri,
          name: path,
          description: summary,
          mimeType: 'text/markdown',
        }))
      },
    },
  })

const find = async (uri: string, visit: Visit) => (await servedBy(visit)).find((one) => one.uri === uri)

/** One that breaks the extension's rules, as by its size, is left out, and the others are there. */
const entryOf = ({ path, text }: Served): Promise<Entry | undefined> =>
  skillEntry(path, { 'SKILL.md': text }).catch(() => undefined)

/** The extension wants a skill named as its folder is. Where two would be alike, the later ones are numbered. */
async function servedBy(visit: Visit): Promise<Served[]> {
  const taken = new Set<string>()
  return [...(await visit.skills())]
    .sort((a, b) => (a.id < b.id ? -1 : 1))
    .map((skill) => {
      const path = takeFolder(folderOf(skill.name), taken)
      const summary = wholeSlice(skill.summary.trim(), longestDescription) || skill.name
      const { content: text } = printSkill({ ...skill, name: path, summary })
      return { path, uri: `skill://${path}/SKILL.md`, text, skill }
    })
}
