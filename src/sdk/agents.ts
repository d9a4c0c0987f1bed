import type { GenerationEvent } from '../agents/watch.ts'
import type { Outcome } from './outcome.ts'
import { type Connection, type Options, send } from './send.ts'
import type { ServerEvent } from './streams.ts'
import type { GenerationResult, NewAgentGeneration } from './types.ts'

/** A function in your program that an agent can call. The model gets its return value or its error. */
export type ClientTool = (args: never, call: { readonly tool_call_id: string; readonly tool_name: string }) => unknown

export interface AgentRun extends Omit<NewAgentGeneration, 'stream' | 'stream_format' | 'async'>, Options {
  /** Your tools, by the names that the model sees. */
  readonly tools?: Readonly<Record<string, ClientTool>>
}

export interface AgentMethods {
  /**
   * Runs an agent to its end, and calls your tools whenever it needs them. Returns early only if something else is
   * needed: a tool that is not given here, or an approval.
   */
  run(agent: string, run: AgentRun): Promise<Outcome<GenerationResult>>
  /** The same as a stream of events: text, steps and calls. */
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

/** Runs all requested tools in parallel. Undefined if one of them is not given. */
async function outputsOf({ status, required_action }: GenerationResult, tools: NonNullable<AgentRun['tools']>) {
  const calls = required_action?.tool_calls ?? []
  if (status !== 'requires_action' || calls.length === 0) return undefined
  if (calls.some(({ tool_name }) => !Object.hasOwn(tools, tool_name))) return undefined
  return Promise.all(
    calls.map(async ({ tool_call_id, tool_name, args, generation_id }) => {
      const call = { tool_call_id, ...(generation_id && { generation_id }) }
      try {
        const output = await (tools[tool_name] as ClientTool)(args as never, { tool_call_id, tool_name })
        return { ...call, output: output === undefined ? null : output }
      } catch (error) {
        return { ...call, output: error instanceof Error ? error.message : String(error), is_error: true }
      }
    }),
  )
}
