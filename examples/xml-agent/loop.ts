import type { Quartermaster, XmlResult } from 'quartermaster/sdk'

export interface Message {
  readonly role: 'system' | 'user' | 'assistant'
  readonly text: string
}

/** Any model that answers text with text. */
export type Model = (conversation: readonly Message[]) => Promise<string>

export interface Agent {
  readonly qm: Quartermaster
  readonly model: Model
  /** Which of the caller's servers the agent uses. */
  readonly servers: readonly string[]
  readonly maxTurns?: number
  onText?(text: string): void
  onResult?(result: XmlResult): void
}

/**
 * The loop of an agent whose model writes its calls as XML: ask the model, run the blocks in its answer, and send the results
 * back, until an answer has no blocks. Errors, refusals and approvals need no code here: results say what happened, and the
 * model decides what to do about it.
 */
export async function runAgent(agent: Agent, task: string): Promise<string> {
  const { qm, model, servers, maxTurns = 20 } = agent
  const conversation: Message[] = [
    { role: 'system', text: await toolSection(qm, servers) },
    { role: 'user', text: task },
  ]
  for (let turn = 0; turn < maxTurns; turn++) {
    const text = await model(conversation)
    conversation.push({ role: 'assistant', text })
    agent.onText?.(text)
    const results = await execute(agent, text)
    if (results.text === '') return text
    conversation.push({ role: 'user', text: results.text })
  }
  throw new Error(`The model was not done after ${maxTurns} turns.`)
}

/** What the model has to know to write blocks: the servers, their tools and their resources. */
async function toolSection(qm: Quartermaster, servers: readonly string[]): Promise<string> {
  const { data, error } = await qm.servers.getXmlPrompt({ query: { servers: servers.join(',') } })
  if (error) throw new Error(error.message)
  return data.prompt
}

/** Runs the blocks of an answer, one after the other. A call that needs approval waits here for a person. */
async function execute({ qm, servers, onResult }: Agent, text: string) {
  const { data, error } = await qm.servers.executeXml({ body: { text, servers: [...servers] } })
  if (error) throw new Error(error.message)
  for (const result of data.results) onResult?.(result)
  return data
}
