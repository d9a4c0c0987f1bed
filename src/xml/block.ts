/** The two kinds of blocks, and the parameters of each. All of them are required. */
export const blockParameters = {
  use_mcp_tool: ['server_name', 'tool_name', 'arguments'],
  access_mcp_resource: ['server_name', 'uri'],
} as const

export type BlockTag = keyof typeof blockParameters

/** A block as it was written. Positions count UTF-16 units from the start of the message. */
export interface Block {
  readonly tag: BlockTag
  /** The text of each parameter, trimmed. */
  readonly parameters: Readonly<Record<string, string>>
  readonly start: number
  readonly end: number
}

export interface ToolUse extends Block {
  readonly tag: 'use_mcp_tool'
  readonly serverName: string
  readonly toolName: string
  readonly arguments: Readonly<Record<string, unknown>>
}

export interface ResourceAccess extends Block {
  readonly tag: 'access_mcp_resource'
  readonly serverName: string
  readonly uri: string
}

/** A block that can be run. */
export type XmlCall = ToolUse | ResourceAccess

/** A fault of a parameter, or of the whole block if `parameter` is empty. */
export interface BlockFault {
  readonly parameter: string
  readonly message: string
}

export type ReadBlock = { readonly call: XmlCall } | { readonly faults: readonly BlockFault[] }

/** Turns a complete block into a call, or lists everything that is wrong with it. */
export function readBlock(block: Block, repeated: Iterable<string>): ReadBlock {
  const { tag, parameters } = block
  const faults: BlockFault[] = [...repeated].map((parameter) => ({ parameter, message: 'appears more than once' }))
  for (const parameter of blockParameters[tag]) {
    const text = parameters[parameter]
    if (text === undefined) faults.push({ parameter, message: 'is missing' })
    else if (text === '')
      faults.push({ parameter, message: parameter === 'arguments' ? 'is empty: send {}' : 'is empty' })
  }
  const { server_name: serverName = '', tool_name: toolName = '', uri = '', arguments: text = '' } = parameters
  if (tag === 'access_mcp_resource')
    return faults.length > 0 ? { faults } : { call: { ...block, tag, serverName, uri } }
  const { value, fault } = text === '' ? {} : readArguments(text)
  if (fault) faults.push({ parameter: 'arguments', message: fault })
  if (faults.length > 0 || !value) return { faults }
  return { call: { ...block, tag, serverName, toolName, arguments: value } }
}

interface ReadArguments {
  readonly value?: Record<string, unknown>
  readonly fault?: string
}

function readArguments(text: string): ReadArguments {
  const { value, error } = parseJson(text)
  if (error !== undefined) return { fault: `is not valid JSON: ${error}` }
  const isObject = typeof value === 'object' && value !== null && !Array.isArray(value)
  return isObject ? { value: value as Record<string, unknown> } : { fault: 'must be a JSON object' }
}

export function parseJson(text: string): { readonly value?: unknown; readonly error?: string } {
  try {
    return { value: JSON.parse(text) }
  } catch (error) {
    // The message quotes the text around the fault.
    return { error: (error as Error).message }
  }
}
