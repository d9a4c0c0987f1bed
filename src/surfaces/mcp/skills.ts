import { z } from 'zod'
import { countCharacters, firstCharacters, wholeSlice } from '../../lib/characters.ts'
import type { JsonObject } from '../../lib/json.ts'
import { PlatformError } from '../../model/errors.ts'
import type { Skill } from '../../model/skill.ts'
import { parseInput } from '../../operations/operation.ts'
import { type ToolResult, textResult } from './results.ts'
import type { ServerRequest } from './server-request.ts'

/** In characters. Longer content is truncated, with a note. */
const longest = 100_000

/** The two tools with which an agent finds and loads skills. */
export const skillTools: readonly JsonObject[] = [
  {
    name: 'GET_KNOWLEDGE_INDEX',
    description:
      'Returns a compact index of the skills on this server: proven procedures for multi-step work. Browse it before you plan. If a skill is relevant, load it with LOAD_SKILL, then continue with RESOLVE_ACTIONS and EXECUTE_ACTION or the other tools.',
    inputSchema: {
      type: 'object',
      properties: {
        limit: { type: 'integer', minimum: 1, maximum: 500, default: 50, description: 'Maximum number of entries' },
        offset: { type: 'integer', minimum: 0, default: 0, description: 'Number of entries to skip' },
      },
    },
    annotations: { readOnlyHint: true },
  },
  {
    name: 'LOAD_SKILL',
    description:
      'Loads the full content of a skill by its id (from GET_KNOWLEDGE_INDEX) or its name. Give at least one. The content is in results[0].snippet; check success first.',
    inputSchema: {
      type: 'object',
      properties: {
        skill_id: { type: 'string', description: 'The skill’s id' },
        skill_name: { type: 'string', description: 'The skill’s name, if you do not have the id' },
      },
      additionalProperties: false,
    },
    annotations: { readOnlyHint: true },
  },
]

/** The limits of the introduction below. */
const introduced = { most: 50, characters: 4000 }

/** Instructions for an agent: which skills exist, and when to load one. */
export async function introduceSkills(request: ServerRequest): Promise<string | undefined> {
  const all = await request.skills()
  if (all.length === 0) return undefined
  const lines: string[] = []
  let room = introduced.characters
  for (const { name, summary } of all.slice(0, introduced.most)) {
    const line = `- ${wholeSlice(`${name}: ${summary}`.replaceAll(/\s+/g, ' '), 300)}`
    room -= line.length
    if (room < 0) break
    lines.push(line)
  }
  const more = all.length - lines.length
  return [
    'This server has skills: proven procedures for multi-step work. If one is relevant, load it with LOAD_SKILL before you plan.',
    ...lines,
    ...(more > 0 ? [`GET_KNOWLEDGE_INDEX lists ${more} more.`] : []),
  ].join('\n')
}

const whole = (value: unknown, fallback: number, most: number): number =>
  typeof value === 'number' && Number.isFinite(value) ? Math.min(Math.max(Math.trunc(value), 0), most) : fallback

export async function knowledgeIndex(input: JsonObject, request: ServerRequest): Promise<ToolResult> {
  const limit = Math.max(whole(input.limit, 50, 500), 1)
  const offset = whole(input.offset, 0, Number.MAX_SAFE_INTEGER)
  const skills = await request.skills()
  const entries = skills.slice(offset, offset + limit).map(({ id, name, summary, category, apps }) => ({
    ...{ id, name, summary, category, apps },
  }))
  return textResult(JSON.stringify({ skills: entries, total: skills.length, limit, offset }))
}

const Load = z.strictObject({ skill_id: z.string().nullish(), skill_name: z.string().nullish() })

/** Returns failures as normal results, because some clients throw on `isError`. The call is recorded as failed. */
export async function loadSkill(input: JsonObject, request: ServerRequest): Promise<ToolResult> {
  try {
    return await request.internal('LOAD_SKILL', input, () => load(input, request))
  } catch (error) {
    const said = error instanceof PlatformError ? error.message : 'The skills could not be read. Try again in a moment.'
    return textResult(JSON.stringify({ success: false, error: said }))
  }
}

async function load(input: JsonObject, request: ServerRequest): Promise<ToolResult> {
  const { skill_id: id, skill_name: name } = parseInput(Load, input)
  const wanted = id ?? name
  if (typeof wanted !== 'string') throw wrongly('', 'give "skill_id" or "skill_name"')
  const found = findSkill(await request.skills(), id, name)
  if (!found) {
    const message = `there is no skill "${wanted.slice(0, 200).toWellFormed()}" on this server: GET_KNOWLEDGE_INDEX lists the available skills`
    throw wrongly(id === wanted ? 'skill_id' : 'skill_name', message)
  }
  const { id: file_id, name: skill_name, category, apps, content } = found
  return textResult(
    JSON.stringify({ success: true, results: [{ file_id, snippet: cut(content), skill_name, category, apps }] }),
  )
}

const wrongly = (path: string, message: string) =>
  new PlatformError('VALIDATION_FAILED', { errors: [{ path, message }] })

const findSkill = (skills: readonly Skill[], id: unknown, name: unknown): Skill | undefined =>
  skills.find((skill) => skill.id === id) ??
  skills.find((skill) => skill.name === name) ??
  skills.find((skill) => typeof name === 'string' && skill.name.toLowerCase() === name.trim().toLowerCase())

function cut(content: string): string {
  const beginning = firstCharacters(content, longest)
  if (beginning.length === content.length) return content
  return `${beginning}\n\n[Truncated: these are the first ${longest} of ${countCharacters(content)} characters.]`
}
