import { access, mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { askChoice, askText } from '../toolkit/ask.ts'
import { exit, type Runner, UsageError } from '../toolkit/command.ts'
import { note } from '../toolkit/io.ts'
import { isSet, readArguments } from '../toolkit/parse.ts'
import { canAsk } from '../toolkit/terminal.ts'

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

/** Writes a small project with tools, a skill, a server, and an agent if a model provider is chosen. */
export const init: Runner = async (invocation) => {
  const { words, given } = readArguments(invocation, 1)
  const folder = words[0] ?? '.'
  const asks = !isSet(given, 'yes')
  if (asks && !canAsk()) throw new UsageError('There is no terminal for the questions. Use the defaults with --yes.')
  const files = ['quartermaster.yaml', '.env.example'].map((name) => join(folder, name))
  for (const file of isSet(given, 'force') ? [] : files) {
    const isThere = await access(file).then(
      () => true,
      () => false,
    )
    if (isThere) throw new UsageError(`${file} already exists. Overwrite it with --force.`)
  }
  const answers = asks ? await question() : { slug: 'support', url: 'https://api.example.com', provider: 'none' }
  const [project = '', example = ''] = files
  try {
    await mkdir(folder, { recursive: true })
    await writeFile(project, projectText(answers))
    await writeFile(example, exampleText(answers))
  } catch (error) {
    throw new UsageError(`Cannot write to ${folder} (${(error as NodeJS.ErrnoException).code}).`)
  }
  note(`Wrote ${project} and ${example}. Next steps:`)
  note(`  quartermaster check ${project}\n  quartermaster apply ${project} --dry-run\n  quartermaster apply ${project}`)
  return exit.ok
}

async function question(): Promise<Answers> {
  const typed = await askText('Name of the MCP server', { fallback: 'support' })
  const slug =
    typed
      .trim()
      .toLowerCase()
      .replaceAll(/[^a-z0-9]+/g, '-')
      .replaceAll(/^-|-$/g, '')
      .slice(0, 63) || 'support'
  const url = await askUrl()
  const provider = await askChoice('Model provider of the agent', ['none', ...Object.keys(variables)], 'none')
  return { slug, url, provider }
}

async function askUrl(): Promise<string> {
  const url = await askText('URL of an HTTP API', {
    fallback: 'https://api.example.com',
    validate: (typed) => (isUrl(typed.trim()) ? undefined : 'Enter a URL like https://api.example.com.'),
  })
  return url.trim().replace(/\/+$/, '')
}

const isUrl = (text: string): boolean => /^https?:\/\/[^/\s]+/.test(text) && URL.canParse(text)

const projectText = ({
  slug,
  url,
  provider,
}: Answers): string => `# The records of this project. "quartermaster apply" creates and updates them on the platform.
# \${NAME} is an environment variable, or a variable in a .env file next to this file.

tools:
  get-order:
    description: Get an order by its number
    parameters:
      type: object
      properties:
        number: { type: string, description: Order number }
      required: [number]
    execute:
      method: GET
      url: ${JSON.stringify(`${url}/orders/{number}`)}
      headers:
        Authorization: Bearer \${ORDERS_API_KEY}

  refund-order:
    description: Refund an order
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
    # Each call needs approval.
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
    instructions: Help with orders. Look up the order before you answer.
    tools: [get-order, refund-order]
`
}

const exampleText = ({ provider }: Answers): string =>
  ['ORDERS_API_KEY=', ...(variables[provider] ? [`${variables[provider]}=`, 'MODEL='] : []), ''].join('\n')
