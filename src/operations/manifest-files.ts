import { readFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { parseEnv } from 'node:util'
import { PlatformError } from '../model/errors.ts'
import type { Principal } from '../model/principal.ts'
import { StartError } from '../model/start-error.ts'
import { applyManifest } from './apply-manifest.ts'
import type { OperationDeps } from './operation.ts'

/** The operator, who starts the platform with manifests. */
const operator: Principal = {
  kind: 'api_key',
  id: 'key_operator',
  name: 'operator',
  projectId: null,
  grants: [{ policyId: 'operator', statements: [{ effect: 'Allow', action: ['*'], resource: ['*'] }] }],
  endUserId: null,
  rateLimit: null,
  expiresAt: null,
}

/**
 * Applies manifest files, with variables from the environment or a .env file beside them. All files are tried, so that the
 * error names everything that is wrong. Returns the names of the agents.
 */
export async function applyManifestFiles(
  paths: readonly string[],
  environment: Readonly<Record<string, string | undefined>>,
  deps: OperationDeps,
): Promise<string[]> {
  const faults: string[] = []
  const agents: string[] = []
  for (const path of paths) {
    try {
      agents.push(await withRetry(() => applyFile(path, environment, deps)))
    } catch (error) {
      faults.push(...describe(path, error))
    }
  }
  if (faults.length > 0) throw new StartError(`The manifest cannot be used.\n${faults.join('\n')}`)
  return agents
}

const maxAttempts = 5

/** Several processes may start at once and create the same records. What one has created, the others find on a retry. */
async function withRetry<T>(run: () => Promise<T>): Promise<T> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await run()
    } catch (error) {
      const isRace = error instanceof PlatformError && error.code === 'NAME_TAKEN'
      if (!isRace || attempt === maxAttempts) throw error
    }
  }
}

async function applyFile(
  path: string,
  environment: Readonly<Record<string, string | undefined>>,
  deps: OperationDeps,
): Promise<string> {
  const text = await readFile(path, 'utf8')
  const beside = parseEnv(await readFile(join(dirname(path), '.env'), 'utf8').catch(() => ''))
  const projectId = await projectOf(deps)
  const request = {
    principal: operator,
    surface: 'cli' as const,
    client: { name: null, version: null },
    parentCallId: null,
    depth: 0,
  }
  const values = { ...beside, ...environment }
  const { agent } = await applyManifest(text, { ...deps, ...request, projectId, values })
  return agent.name
}

/** The first project: manifests of the operator are not bound to a tenant. */
async function projectOf({ store }: OperationDeps): Promise<string> {
  const { data } = await store.projects.list({ limit: 1, offset: 0 }, undefined)
  if (!data[0]) throw new StartError('There is no project to apply the manifest to.')
  return data[0].id
}

function describe(path: string, error: unknown): string[] {
  if (error instanceof PlatformError && error.code === 'MANIFEST_INVALID') {
    const { errors } = (error as PlatformError<'MANIFEST_INVALID'>).details
    return errors.map((one) => `${path}:${one.line}:${one.column}: ${one.path}: ${one.message}`)
  }
  if (error instanceof PlatformError && error.code === 'MANIFEST_SERVERS_UNREACHABLE') {
    const { servers } = (error as PlatformError<'MANIFEST_SERVERS_UNREACHABLE'>).details
    return servers.map(
      ({ id, url, reason }) => `${path}: the MCP server "${id}" at ${url} cannot be reached: ${reason}`,
    )
  }
  const { code, message } = error as NodeJS.ErrnoException
  if (code === 'ENOENT' || code === 'EACCES' || code === 'EISDIR') return [`${path}: cannot be read (${code})`]
  if (error instanceof PlatformError || error instanceof StartError) return [`${path}: ${message}`]
  throw error
}
