import { appOf } from '../../catalogue/app.ts'
import type { ToolEntry } from '../../catalogue/catalogue.ts'
import { isObject, type JsonObject } from '../../lib/json.ts'
import type { Live } from '../../model/call.ts'
import { PlatformError } from '../../model/errors.ts'
import { clientNames, literalMatch, qualifiedPrompt, qualifiedUri } from './passed-names.ts'
import type { PassedServer, ServerRequest } from './server-request.ts'
import { findSkill, loadSkillResource, skillResources } from './skill-resources.ts'

/** Something of an upstream server. `own` is its name or URI there. */
interface Passed {
  readonly entry: ToolEntry
  readonly app: string
  readonly own: string
  readonly value: JsonObject
}

/** A URI of ours, and where it leads. */
interface Route {
  readonly entry: ToolEntry
  readonly own: string
}

/** The prompts and resources of the MCP servers behind one of ours, as one caller sees them. */
export class PassThrough {
  readonly #request: ServerRequest

  constructor(request: ServerRequest) {
    this.#request = request
  }

  async prompts(): Promise<readonly JsonObject[]> {
    return [...(await this.#prompts())].map(([name, { value }]) => ({ ...value, name }))
  }

  async getPrompt({ name, arguments: input }: JsonObject, live: Live): Promise<JsonObject> {
    const { entry, own } = await this.#findPrompt(String(name))
    const params = { name: own, ...(input !== undefined && { arguments: input }) }
    return plain(await this.#request.useMethod(entry, 'prompts/get', params, live))
  }

  /** Our skills, if the server offers them, and the resources of all servers behind it. */
  async resources(): Promise<readonly JsonObject[]> {
    const skills = await this.#skills()
    const servers = await this.#request.passed('resources')
    const passed = clientNames(resourcesOf(servers), qualifiedUri, new Set(skills.map(({ uri }) => uri)))
    return [...skills, ...[...passed].map(([uri, { value }]) => ({ ...value, uri }))]
  }

  async templates(): Promise<readonly JsonObject[]> {
    const templates = clientNames(templatesOf(await this.#request.passed('resources')), qualifiedUri)
    return [...templates].map(([uriTemplate, { value }]) => ({ ...value, uriTemplate }))
  }

  async read(uri: string, live: Live): Promise<JsonObject> {
    const skill = this.#request.server.retrieve_skill ? await findSkill(uri, this.#request) : undefined
    if (skill) {
      const { text, mimeType } = await loadSkillResource(skill, this.#request)
      return { contents: [{ uri, text, mimeType }] }
    }
    const route = await this.#route(uri)
    const result = await this.#request.useMethod(route.entry, 'resources/read', { uri: route.own }, live)
    return route.own === uri ? plain(result) : { ...plain(result), contents: renamed(result, route.entry) }
  }

  /** Calls the listener when a resource changes, until the returned function is called. */
  async watch(uri: string, listener: () => void): Promise<() => void> {
    const skill = this.#request.server.retrieve_skill ? await findSkill(uri, this.#request) : undefined
    // Changes of skills are announced as changes of the list.
    if (skill) return () => {}
    const { entry, own } = await this.#route(uri)
    return this.#request.watch(entry, own, listener)
  }

  async complete({ ref, argument, context }: JsonObject, live: Live): Promise<JsonObject> {
    const target = await this.#findReference(isObject(ref) ? ref : {})
    if (!target || !(await this.#completes(target.entry))) return nothing
    const params = { ref: target.ref, argument: argument ?? {}, ...(context !== undefined && { context }) }
    return plain(await this.#request.useMethod(target.entry, 'completion/complete', params, live))
  }

  async #findReference(ref: JsonObject): Promise<{ entry: ToolEntry; ref: JsonObject } | undefined> {
    if (ref.type === 'ref/prompt') {
      const { entry, own } = await this.#findPrompt(String(ref.name))
      return { entry, ref: { ...ref, name: own } }
    }
    const templates = clientNames(templatesOf(await this.#request.passed('resources')), qualifiedUri)
    const found = templates.get(String(ref.uri))
    return found && { entry: found.entry, ref: { ...ref, uri: found.own } }
  }

  /** Nobody approves each keystroke, so there are no suggestions where calls need approval. */
  async #completes(entry: ToolEntry): Promise<boolean> {
    const { server } = this.#request
    const action = entry.methods.get('completion/complete')?.action
    if (!action?.autoApprove || server.auto_approve === false) return false
    const servers = [...(await this.#request.passed('prompts')), ...(await this.#request.passed('resources'))]
    return servers.some((one) => one.entry.tool.id === entry.tool.id && one.offers.completes)
  }

  async #prompts(): Promise<ReadonlyMap<string, Passed>> {
    return clientNames(promptsOf(await this.#request.passed('prompts')), qualifiedPrompt)
  }

  /** A qualified name is always valid, so that it keeps working when the other server with that name is away. */
  async #findPrompt(name: string): Promise<Passed> {
    const prompts = await this.#prompts()
    const found = prompts.get(name) ?? [...prompts.values()].find(({ app, own }) => qualifiedPrompt(app, own) === name)
    if (found) return found
    const unknown = new PlatformError('UNKNOWN_PROMPT', { server_name: this.#request.server.slug, name })
    await this.#request.refused('prompts/get', { name }, unknown)
    throw unknown
  }

  async #route(uri: string): Promise<Route> {
    const route = findRoute(uri, await this.#request.passed('resources'))
    if (route) return route
    const unknown = new PlatformError('UNKNOWN_RESOURCE', { server_name: this.#request.server.slug, uri })
    await this.#request.refused('resources/read', { uri }, unknown)
    throw unknown
  }

  async #skills(): Promise<readonly (JsonObject & { readonly uri: string })[]> {
    return this.#request.server.retrieve_skill ? skillResources(this.#request) : []
  }
}

const nothing: JsonObject = { completion: { values: [], hasMore: false } }

/** Finds the server of a URI: by its lists, then its templates. A URI in no list can only go to the only server there is. */
function findRoute(uri: string, servers: readonly PassedServer[]): Route | undefined {
  const listed = resourcesOf(servers).filter(({ own }) => own === uri)
  const own = theOnly(listed) ?? byTemplate(uri, servers)
  if (own) return { entry: own.entry, own: uri }
  const app = servers.find(({ entry }) => uri.startsWith(qualifiedUri(appOf(entry.tool), '')))
  if (app) {
    const name = appOf(app.entry.tool)
    const same = servers.filter(({ entry }) => appOf(entry.tool) === name)
    return inApp(uri.slice(qualifiedUri(name, '').length), same)
  }
  const able = servers.filter(({ offers }) => offers.hasResources)
  return able.length === 1 && able[0] ? { entry: able[0].entry, own: uri } : undefined
}

/** Within an app, the first server that knows the URI wins. */
function inApp(uri: string, servers: readonly PassedServer[]): Route | undefined {
  const [listed] = resourcesOf(servers).filter(({ own }) => own === uri)
  const [matching] = templatesOf(servers).filter(({ own }) => literalMatch(own, uri) !== undefined)
  const [able] = servers.filter(({ offers }) => offers.hasResources)
  const found = listed ?? matching ?? able
  return found && { entry: found.entry, own: uri }
}

function byTemplate(uri: string, servers: readonly PassedServer[]): Passed | undefined {
  const matches = templatesOf(servers).flatMap((one) => {
    const literal = literalMatch(one.own, uri)
    return literal === undefined ? [] : [{ one, literal }]
  })
  const most = Math.max(...matches.map(({ literal }) => literal))
  return theOnly(matches.filter(({ literal }) => literal === most).map(({ one }) => one))
}

/** Undefined if several apps have it. */
const theOnly = (all: readonly Passed[]): Passed | undefined =>
  all.every(({ app }) => app === all[0]?.app) ? all[0] : undefined

const promptsOf = (servers: readonly PassedServer[]): Passed[] =>
  servers.flatMap(({ entry, offers }) => offers.prompts.map((one) => passed(entry, one.name, one)))

const resourcesOf = (servers: readonly PassedServer[]): Passed[] =>
  servers.flatMap(({ entry, offers }) => offers.resources.map((one) => passed(entry, one.uri, one)))

const templatesOf = (servers: readonly PassedServer[]): Passed[] =>
  servers.flatMap(({ entry, offers }) => offers.templates.map((one) => passed(entry, one.uriTemplate, one)))

const passed = (entry: ToolEntry, own: string, value: object): Passed => ({
  entry,
  app: appOf(entry.tool),
  own,
  value: value as JsonObject,
})

/** Without what the protocol adds for one client: the next client gets that from us. */
function plain(result: JsonObject): JsonObject {
  const { resultType: _, ttlMs: __, cacheScope: ___, ...rest } = result
  return rest
}

/** The contents of a resource that was read under a qualified URI. */
const renamed = ({ contents }: JsonObject, { tool }: ToolEntry): JsonObject[] =>
  (contents as JsonObject[]).map((one) => ({ ...one, uri: qualifiedUri(appOf(tool), String(one.uri)) }))
