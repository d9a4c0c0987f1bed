import { readFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { parseEnv } from 'node:util'
import { readManifest } from '../../agents/manifest/read.ts'
import { exit, type FlagValues, InvalidFile, UsageError } from '../toolkit/command.ts'
import { openSession } from '../toolkit/connection.ts'
import { io, say } from '../toolkit/io.ts'
import { isSet } from '../toolkit/parse.ts'
import { print } from '../toolkit/print.ts'
import { harmless, isForPeople, paint, withProgress } from '../toolkit/terminal.ts'
import { faultLine, type ManifestFile } from './manifest.ts'
import { sendOperation } from './plan.ts'

/** Applies a manifest to a running platform, with the values of its secrets from the environment or a .env file. */
export async function applyManifest(
  { path, text }: ManifestFile,
  { given }: { readonly given: FlagValues },
): Promise<number> {
  const { manifest, faults } = readManifest(text)
  if (!manifest) {
    throw new InvalidFile(['The manifest is not valid:', ...faults.map((fault) => faultLine(path, fault))].join('\n'))
  }
  if (isSet(given, 'dry-run')) throw new UsageError('--dry-run is for project files. Use "quartermaster check" first.')
  const environment = { ...parseEnv(await readFile(join(dirname(path), '.env'), 'utf8').catch(() => '')), ...io().env }
  const secrets = Object.fromEntries(
    manifest.secrets.flatMap(({ secret_name: name }) => {
      const value = environment[name]
      return value ? [[name, value]] : []
    }),
  )
  const [projectId] = given.get('project-id') ?? []
  const session = await openSession(given)
  const body = { manifest: text, secrets, ...(projectId !== undefined && { project_id: projectId }) }
  const applied = await withProgress('Contacting its servers …', sendOperation(session, 'apply-manifest', { body }))
  const json = isSet(given, 'json')
  const { agent, tools } = applied as { agent: { id: string; name: string }; tools: string[] }
  if (!isForPeople(json)) print({ agent_id: agent.id, tools }, { json })
  else say(`${paint('green', '✓')} ${harmless(agent.name)} (${agent.id}) is ready, with ${tools.length} tools.`)
  return exit.ok
}
