import { access, mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { askChoice, askText } from '../toolkit/ask.ts'
import { exit, type Runner, UsageError } from '../toolkit/command.ts'
import { isSet, readArguments } from '../toolkit/flags.ts'
import { canAsk, note } from '../toolkit/terminal.ts'

interface Answers {
  readonly slug: string
  readonly url: string
  readonly provider: string
}

const variables: Readonly<Record<string, string>> = {
  openai: 'OPENAI_API_KEY',
  anthropic: 'ANTHROPIC_API_KEY',
  google: 'GOOGLE_API_KEY',
}

/** Writes a small project to begin with: a tool, a skill, a server, and an agent if a model is at hand. */
export const init: Runner = async (args, { flags }) => {
  const { words, given } = readArguments(flags, args, 1)
  const folder = words[0] ?? '.'
  const asks = !isSet(given, 'yes')
  if (asks && !canAsk()) throw new UsageError('Nobody can be asked here: take the usual answers with --yes.')
  const files = ['quartermaster.yaml', '.env.example'].map((name) => join(folder, name))
  for (const file of isSet(given, 'force') ? [] : files) {
    const isThere = await access(file).then(
      () => true,
      () => false,
    )
    if (isThere) throw new UsageError(`${file} is there already; --force replaces it.`)
  }
  const answers = asks ? await question() : { slug: 'support', url: 'https://api.example.com', provider: 'none' }
  const [project = '', example = ''] = files
  try {
    await mkdir(folder, { recursive: true })
    await writeFile(project, projectText(answers))
    await writeFile(example, exampleText(answers))
  } catch (error) {
    throw new UsageError(`cannot write into ${folder} (${(error as NodeJS.ErrnoException).code}).`)
  }
  note(`Wrote ${project} and ${example}. Next:`)
  note(`  quartermaster check ${project}\n  quartermaster apply ${project} --dry-run\n  quartermaster apply ${project}`)
  return exit.ok
}

async function question(): Promise<Answers> {
  const typed = await askText('Name of the MCP server that agents will use', 'support')
  const slug =
    typed
      .trim()
      .toLowerCase()
      .replaceAll(/[^a-z0-9]+/g, '-')
      .replaceAll(/^-|-$/g, '')
      .slice(0, 63) || 'support'
  const url = await askUrl()
  const provider = await askChoice(
    'Which language model will your agent use?',
    ['none', ...Object.keys(variables)],
    'none',
  )
  return { slug, url, provider }
}

async function askUrl(): Promise<string> {
  for (;;) {
    const url = (await askText('Address of an HTTP API of yours', 'https://api.example.com')).trim().replace(/\/+$/, '')
    if (/^https?:\/\/[^/\s]+/.test(url) && URL.canParse(url)) return url
    note('That is no address.')
  }
}

const projectText = ({
  slug,
  url,
  provider,
}: Answers): string => `# What this project has. "quartermaster apply" makes the platform so; applying it twice changes nothing.
# \${NAME} is a variable of the environment, or of a .env file beside this one.

tools:
  get-order:
    description: The state of an order, by its number
    parameters:
      type: object
      properties:
        number: { type: string, description: The number of the order }
      required: [number]
    execute:
      method: GET
      url: ${JSON.stringify(`${url}/orders/{number}`)}
      headers:
        Authorization: Bearer \${ORDERS_API_KEY}

  refund-order:
    description: Pays an order back
    parameters:
      type: object
      properties:
        number: { type: string }
        amount: { type: number, exclusiveMinimum: 0 }
      required: [number, amount]
    execute:
      method: POST
      url: ${JSON.stringify(`${url}/orders/{number}/refunds`)}
      headers:
        Authorization: Bearer \${ORDERS_API_KEY}
    # A person decides on each of these.
    auto_approve: false

skills:
  refunds:
    summary: How to refund an order
    content: |
      1. Look up the order.
      2. Refund at most what was paid.

servers:
  ${slug}:
    description: Orders and refunds
    retrieve_skill: true
    skills: [refunds]
${agentText(provider)}`

const agentText = (provider: string): string => {
  const variable = variables[provider]
  if (!variable) return ''
  return `
ai_providers:
  ${provider}:
    type: ${provider}
    api_key: \${${variable}}
    default_model: \${MODEL}

agents:
  support:
    ai_provider: ${provider}
    instructions: Help with orders. Look before you answer.
    tools: [get-order, refund-order]
`
}

const exampleText = ({ provider }: Answers): string =>
  ['ORDERS_API_KEY=', ...(variables[provider] ? [`${variables[provider]}=`, 'MODEL='] : []), ''].join('\n')
