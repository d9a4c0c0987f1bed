import { didYouMean } from '../model/nearest.ts'
import { printToolReference, readToolReference } from '../model/tool-reference.ts'
import { Quartermaster } from '../sdk/index.ts'
import { type Connection, send } from '../sdk/send.ts'
import { UsageError } from './command.ts'
import { commands } from './commands.ts'
import { got } from './connection.ts'

/** The id of a tool, by its id, its name, or its app and name: `salesforce/create_contact`. */
export async function findTool(qm: Quartermaster, wanted: string): Promise<string> {
  if (/^tool_/.test(wanted)) return wanted
  const id = await findToolNamed(qm, wanted)
  if (id !== undefined) return id
  const others = got(await qm.tools.listTools({ query: { limit: 500 } }))
  throw unknown('tool', wanted, others.data)
}

/** The one tool that a reference means; nothing where there is none. */
async function findToolNamed(qm: Quartermaster, wanted: string): Promise<string | undefined> {
  const { app, name } = readToolReference(wanted)
  const { data } = got(await qm.tools.listTools({ query: { name, limit: 500 } }))
  const found = data.filter((tool) => app === undefined || tool.app === app)
  if (found.length > 1) throw severalTools(wanted, found)
  return found[0]?.id
}

/** Their apps tell tools of one name apart; in different projects, only their ids do. */
function severalTools(wanted: string, found: readonly { id: string; app: string; name: string }[]): UsageError {
  const references = [...new Set(found.map(printToolReference))].sort()
  if (references.length < found.length) return ambiguous('tool', wanted, found)
  return new UsageError(`Several tools are named "${wanted}": ${references.join(', ')}. Name one of these.`)
}

/** The id of an agent, by its id or its name. */
export async function findAgent(qm: Quartermaster, wanted: string): Promise<string> {
  if (/^agt_/.test(wanted)) return wanted
  const { data } = got(await qm.agents.listAgents({ query: { limit: 500 } }))
  const found = data.filter(({ name }) => name === wanted)
  if (found.length > 1) throw ambiguous('agent', wanted, found)
  if (found[0]) return found[0].id
  throw unknown('agent', wanted, data)
}

/** Whether it is the id of something, whatever that is, and no name. */
export const looksLikeId = (text: string): boolean => /^[a-z]+_[A-Za-z0-9]{10,}$/.test(text)

const mostRecords = 5000

/** The id of the one record that has a name, for a parameter such as `tool_id`; nothing where it cannot be told. */
export async function findNamed(connection: Connection, parameter: string, name: string): Promise<string | undefined> {
  if (parameter === 'tool_id') return findToolNamed(new Quartermaster(connection), name)
  const noun = parameter.replace(/_id$/, '').replaceAll('_', '-')
  const list = commands.find((one) => one.name === `list-${noun.replace(/y$/, 'ie')}s`)
  if (!list || list.fields.some(({ where }) => where === 'path')) return undefined
  const found: string[] = []
  for (let offset = 0, total = 1; offset < Math.min(total, mostRecords); ) {
    const { data, error } = await send(connection, list, { query: { limit: 500, offset } })
    if (error) return undefined
    const page = data as { data: { id: string; name?: string }[]; total: number }
    found.push(...page.data.filter((one) => one.name === name).map(({ id }) => id))
    offset += page.data.length
    total = page.data.length === 0 ? 0 : page.total
  }
  if (found.length > 1)
    throw ambiguous(
      noun,
      name,
      found.map((id) => ({ id })),
    )
  return found[0]
}

const ambiguous = (kind: string, name: string, found: readonly { id: string }[]) =>
  new UsageError(`Several ${kind}s are named "${name}": ${found.map(({ id }) => id).join(', ')}. Give the id of one.`)

function unknown(kind: string, wanted: string, known: readonly { name: string }[]): UsageError {
  const names = known.map(({ name }) => name)
  const whereElse =
    names.length === 0
      ? ' This key sees none; by its id one can be called that cannot be seen.'
      : ` "quartermaster list-${kind}s" lists them.`
  return new UsageError(`There is no ${kind} named "${wanted}".${didYouMean(wanted, names) || whereElse}`)
}
