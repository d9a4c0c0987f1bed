import { failed, type Outcome } from './outcome.ts'
import { type Connection, type Options, reasonOf } from './send.ts'
import { readEvents } from './streams.ts'

type Input = Record<string, unknown>

/** A tool of a server, as its MCP endpoint lists it. */
export interface ServerTool {
  readonly name: string
  readonly description?: string
  readonly inputSchema: Input
}

/** The result of a tool, in MCP format. */
export interface ToolResult {
  readonly content: readonly { readonly type: string; readonly text?: string; readonly [field: string]: unknown }[]
  readonly structuredContent?: unknown
  readonly isError?: boolean
}

/** A tool call in OpenAI's format. */
export interface OpenAiCall {
  readonly id: string
  readonly function: { readonly name: string; readonly arguments: string }
}

/** A tool call in Anthropic's format. */
export interface AnthropicCall {
  readonly type: 'tool_use'
  readonly id: string
  readonly name: string
  readonly input: unknown
}

/**
 * The tools of one server, for a model that you call yourself: listed in the format of its provider, and called through
 * the platform, with its permissions, approvals and call log.
 */
export class ServerTools {
  readonly list: readonly ServerTool[]
  readonly #endpoint: Endpoint

  constructor(list: readonly ServerTool[], endpoint: Endpoint) {
    this.list = list
    this.#endpoint = endpoint
  }

  /** Calls a tool. If it fails, the result has `isError` and the error as text. */
  async call(name: string, input: Input = {}, options: Options = {}): Promise<ToolResult> {
    return (await this.#endpoint.ask('tools/call', { name, arguments: input }, options)) as ToolResult
  }

  /** The `tools` of OpenAI's chat completions and compatible APIs. */
  forOpenAI(): { type: 'function'; function: { name: string; description?: string; parameters: Input } }[] {
    return this.list.map(({ name, description, inputSchema }) => ({
      type: 'function',
      function: { name, ...(description !== undefined && { description }), parameters: inputSchema },
    }))
  }

  /** Makes the tool calls of an assistant message. Returns the messages to send back. */
  answerOpenAI(calls: readonly OpenAiCall[] = []): Promise<{ role: 'tool'; tool_call_id: string; content: string }[]> {
    return Promise.all(
      calls.map(async ({ id, function: { name, arguments: written } }) => {
        const { text } = await this.#said(name, written)
        return { role: 'tool' as const, tool_call_id: id, content: text }
      }),
    )
  }

  /** The `tools` of Anthropic's messages API. */
  forAnthropic(): { name: string; description?: string; input_schema: Input & { type: 'object' } }[] {
    return this.list.map(({ name, description, inputSchema }) => ({
      name,
      ...(description !== undefined && { description }),
      input_schema: { ...inputSchema, type: 'object' },
    }))
  }

  /** Makes the tool calls of an assistant message. Returns the content of the user message to send back. */
  answerAnthropic(
    content: readonly ({ readonly type: string } | AnthropicCall)[],
  ): Promise<{ type: 'tool_result'; tool_use_id: string; content: string; is_error: boolean }[]> {
    const calls = content.filter((part): part is AnthropicCall => part.type === 'tool_use')
    return Promise.all(
      calls.map(async ({ id, name, input }) => {
        const { text, isError } = await this.#said(name, JSON.stringify(input ?? {}))
        return { type: 'tool_result' as const, tool_use_id: id, content: text, is_error: isError }
      }),
    )
  }

  /** The `tools` of the AI SDK's `generateText` and `streamText`, which calls them itself. */
  // biome-ignore lint/suspicious/noExplicitAny: its type has a symbol of the AI SDK's own, which we do not depend on
  forAiSdk(): Record<string, any> {
    return Object.fromEntries(
      this.list.map(({ name, description, inputSchema }) => [
        name,
        {
          ...(description !== undefined && { description }),
          // Equivalent to the AI SDK's jsonSchema(). The platform validates the input, so there is no `validate`.
          inputSchema: { [Symbol.for('vercel.ai.schema')]: true, jsonSchema: inputSchema, validate: undefined },
          execute: async (input: unknown, options?: { abortSignal?: AbortSignal }) => {
            const signal = options?.abortSignal
            const { content, structuredContent, isError } = await this.call(
              name,
              input as Input,
              signal ? { signal } : {},
            )
            if (isError) throw new Error(textOf({ content }))
            return structuredContent ?? textOf({ content })
          },
        },
      ]),
    )
  }

  /** The text for the model. Errors are included, so that it can fix invalid JSON or react to a failed tool. */
  async #said(name: string, written: string): Promise<{ text: string; isError: boolean }> {
    try {
      const result = await this.call(name, written.trim() === '' ? {} : (JSON.parse(written) as Input))
      return { text: textOf(result), isError: result.isError === true }
    } catch (error) {
      return { text: error instanceof Error ? error.message : String(error), isError: true }
    }
  }
}

/** The text of a result. Other content is replaced by its type. */
export const textOf = ({ content }: Pick<ToolResult, 'content'>): string =>
  content.map((part) => (part.type === 'text' ? (part.text ?? '') : `(${part.type})`)).join('\n\n')

const protocol = '2025-11-25'

/** The MCP endpoint of a server, used without a session. */
class Endpoint {
  readonly #connection: Connection
  readonly #url: string
  #count = 0

  constructor(connection: Connection, slug: string) {
    this.#connection = connection
    this.#url = `${connection.baseUrl.replace(/(\/api\/v1)?\/*$/, '')}/mcp/${encodeURIComponent(slug)}`
  }

  async ask(method: string, params: object, { signal, headers = {} }: Options = {}): Promise<unknown> {
    const { token, fetch: send = fetch } = this.#connection
    const response = await send(this.#url, {
      method: 'POST',
      headers: {
        ...(token !== null && { authorization: `Bearer ${token}` }),
        'content-type': 'application/json',
        accept: 'application/json, text/event-stream',
        'mcp-protocol-version': protocol,
        ...headers,
      },
      body: JSON.stringify({ jsonrpc: '2.0', id: ++this.#count, method, params }),
      ...(signal && { signal }),
    })
    const answer = await read(response)
    if (answer.error) throw Object.assign(new Error(answer.error.message), { code: answer.error.code })
    return answer.result
  }
}

interface ToolAnswer {
  readonly result?: unknown
  readonly error?: { readonly code: number | string; readonly message: string }
}

async function read(response: Response): Promise<ToolAnswer> {
  const isStream = response.headers.get('content-type')?.startsWith('text/event-stream')
  if (!isStream) return (await response.json()) as ToolAnswer
  // Earlier events are progress notifications.
  let last: ToolAnswer = {}
  for await (const { data } of readEvents(response.body as ReadableStream<Uint8Array>)) last = data as ToolAnswer
  return last
}

export interface ServerMethods {
  /** The tools of a server, by its slug, for a model that you call yourself. */
  tools(slug: string, options?: Options): Promise<Outcome<ServerTools>>
}

export const serverMethods = (connection: Connection): ServerMethods => ({
  async tools(slug, options = {}) {
    const endpoint = new Endpoint(connection, slug)
    const list: ServerTool[] = []
    try {
      let cursor: string | undefined
      do {
        const page = (await endpoint.ask('tools/list', cursor === undefined ? {} : { cursor }, options)) as {
          tools: ServerTool[]
          nextCursor?: string
        }
        list.push(...page.tools)
        cursor = page.nextCursor
      } while (cursor !== undefined)
    } catch (error) {
      const { code } = error as { code?: string }
      if (options.signal?.aborted) return failed('ABORTED', 'The request was aborted by its signal.')
      return code === undefined
        ? failed('NETWORK', `The platform could not be reached: ${reasonOf(error)}.`)
        : failed(String(code), (error as Error).message)
    }
    return { data: new ServerTools(list, endpoint), error: undefined, response: new Response(null) }
  },
})
