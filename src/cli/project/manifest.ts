import { readFile } from 'node:fs/promises'
import { parse } from 'yaml'
import { isManifest, type ManifestFault, readManifest } from '../../agents/manifest/read.ts'
import { exit } from '../toolkit/command.ts'
import { note, say } from '../toolkit/io.ts'
import { print } from '../toolkit/print.ts'
import { harmless, isForPeople, paint } from '../toolkit/terminal.ts'
import { counted } from './counted.ts'

export interface ManifestFile {
  readonly path: string
  readonly text: string
}

/** The file if it is a manifest. Project files have other sections, so the shape tells them apart. */
export async function findManifest(path: string): Promise<ManifestFile | undefined> {
  if (path === '-') return undefined
  const text = await readFile(path, 'utf8').catch(() => '')
  if (!/^agent_config\s*:/m.test(text)) return undefined
  return isManifest(parsed(text) ?? { agent_config: null }) ? { path, text } : undefined
}

/** Undefined if it is not valid YAML: the check then reports why. */
function parsed(text: string): unknown {
  try {
    return parse(text, { uniqueKeys: false })
  } catch {
    return undefined
  }
}

export const faultLine = (path: string, { line, column, path: at, message }: ManifestFault): string =>
  `${path}:${line}:${column}: ${harmless(at === '' ? message : `${at}: ${message}`)}`

/** Faults are lines, as compilers print them, unless JSON is asked for. So they are printed once, also in a pipe. */
export const showsJson = (faults: readonly unknown[], json: boolean): boolean =>
  json || (faults.length === 0 && !isForPeople(json))

export function checkManifest({ path, text }: ManifestFile, json: boolean): number {
  const { manifest, faults } = readManifest(text)
  if (showsJson(faults, json)) print({ faults, valid: faults.length === 0 }, { json })
  else if (manifest) {
    const { mcps, context } = manifest.agent_config
    const { policies, routines } = context
    const counts = [
      counted(mcps.length, 'servers'),
      counted(policies.length, 'policies'),
      counted(routines.length, 'routines'),
    ].join(', ')
    say(`${paint('green', '✓')} The manifest is valid: ${manifest.id} has ${counts}.`)
  }
  if (!showsJson(faults, json)) for (const fault of faults) note(faultLine(path, fault))
  return faults.length > 0 ? exit.refused : exit.ok
}
