import type { GenerationEvent } from '../agents/watch.ts'
import type { Operations } from './operations.ts'
import type { Outcome } from './outcome.ts'
import { type Connection, type Options, send } from './send.ts'
import type { ServerEvent } from './streams.ts'

type Generate = Operations['agents']['createAgentGeneration']

/** How a run stands: over, or waiting for someone. */
export type GenerationResult = Generate['answer']

/** A function of the caller's own that an agent may call. What it returns is given to the model; so is what it throws. */
export type ClientTool = (args: never, call: { readonly tool_call_id: string; readonly tool_name: string }) => unknown

export interface AgentRun extends Omit<NonNullable<Generate['body']>, 'stream' | 'stream_format' | 'async'>, Options {
  /** The caller's own tools, by the names that the model sees. */
  readonly tools?: Readonly<Record<string, ClientTool>>
}

export interface AgentMethods {
  /**
   * Runs an agent to its end, and the caller's own tools for it whenever it asks. Answers before the end only where
   * something else is needed: a tool that is not given here, or a reviewer's decision.
   */
  run(agent: string, run: AgentRun): Promise<Outcome<GenerationResult>>
  /** The same, heard as it happens: words, steps and calls, as events. */
  stream(agent: string, run: AgentRun): Promise<Outcome<AsyncGenerator<GenerationEvent>>>
}

const start = 'POST /agents/{agent_id}/generate'
const resume = 'POST /agents/{agent_id}/generate/{generation_id}/tool-outputs'

export const agentMethods = (connection: Connection): AgentMethods => ({
  async run(agent, { tools = {}, signal, headers, ...body }) {
    const options = { ...(signal && { signal }), ...(headers && { headers }) }
    let outcome = await send(connection, { route: start }, { path: { agent_id: agent }, body, ...options })
    for (;;) {
      const result = outcome.data as GenerationResult | undefined
      const outputs = result && (await outputsOf(result, tools))
      if (!result || !outputs) return outcome as Outcome<GenerationResult>
      const path = { agent_id: agent, generation_id: result.id }
      outcome = await send(connection, { route: resume }, { path, body: { tool_outputs: outputs }, ...options })
    }
  },

  async stream(agent, { tools = {}, signal, headers, ...body }) {
    const options = { ...(signal && { signal }), ...(headers && { headers }) }
    const streamed = { stream: true, stream_format: 'events' }
    const endpoint = { answers: 'events' as const }
    const first = await send(
      connection,
      { route: start, ...endpoint },
      { path: { agent_id: agent }, body: { ...body, ...streamed }, ...options },
    )
    if (first.error) return first
    async function* events(): AsyncGenerator<GenerationEvent> {
      let source = first.data as AsyncIterable<ServerEvent<GenerationEvent>>
      for (;;) {
        let last: GenerationEvent | undefined
        for await (const { data } of source) {
          last = data
          yield data
        }
        const result = last && 'result' in last ? last.result : undefined
        const outputs = result && (await outputsOf(result as GenerationResult, tools))
        if (!result || !outputs) return
        const next = await send(
          connection,
          { route: resume, ...endpoint },
          {
            path: { agent_id: agent, generation_id: result.id },
            body: { tool_outputs: outputs, ...streamed },
            ...options,
          },
        )
        if (next.error) throw new Error(next.error.message, { cause: next.error })
        source = next.data as typeof source
      }
    }
    return { data: events(), error: undefined, response: first.response as Response }
  },
})

/** What the caller's own tools give, all at once; nothing where some of what is asked for is not the caller's to give. */
async function outputsOf({ status, required_action }: GenerationResult, tools: NonNullable<AgentRun['tools']>) {
  const calls = required_action?.tool_calls ?? []
  if (status !== 'requires_action' || calls.length === 0) return undefined
  if (calls.some(({ tool_name }) => !Object.hasOwn(tools, tool_name))) return undefined
  return Promise.all(
    calls.map(async ({ tool_call_id, tool_name, args }) => {
      try {
        const output = await (tools[tool_name] as ClientTool)(args as never, { tool_call_id, tool_name })
        return { tool_call_id, output: output === undefined ? null : output }
      } catch (error) {
        return { tool_call_id, output: error instanceof Error ? error.message : String(error), is_error: true }
      }
    }),
  )
}
