import type { JsonObject } from '../../lib/json.ts'
import type { Level } from '../../model/tool.ts'

/** What a workflow needs to know about an action that it calls. */
export interface KnownAction {
  readonly toolId: string
  readonly name: string
  /** The input schema for callers, without preset fields. */
  readonly schema: JsonObject
  readonly outputSchema: JsonObject | undefined
  readonly level: Level
  readonly idempotent: boolean
  readonly destructive: boolean
  readonly readOnly: boolean
  /** A call that is made again under its id continues. */
  readonly resumable: boolean
  /** False for actions that run in the application that uses them. */
  readonly callable: boolean
}

/** The tool that has an action, as far as it is known without asking another system. */
export interface ActionOwner {
  readonly toolId: string
  readonly type: string
  readonly config: object
  readonly level: Level
}

/** The actions of a project. */
export interface ActionLookup {
  /** The tool that an action id refers to, whether it has the action or not. */
  findOwner(projectId: string, actionId: string): Promise<ActionOwner | undefined>
  /** May ask another system, such as an MCP server. */
  findAction(projectId: string, actionId: string): Promise<KnownAction | undefined>
  /** The ids of actions that are known without asking another system, for suggestions. */
  knownIds(projectId: string): Promise<readonly string[]>
}
