import { isObject } from '../../lib/json.ts'
import { PlatformError } from '../../model/errors.ts'
import { loadScript } from '../models/replay.ts'
import { referenceFaults } from './check.ts'
import { Manifest } from './schema.ts'
import { type ManifestFault, type Path, readSource, type Source, schemaFaults } from './source.ts'

export type { ManifestFault } from './source.ts'

export interface ReadManifest {
  /** Undefined if there are faults. */
  readonly manifest: Manifest | undefined
  readonly faults: readonly ManifestFault[]
  faultAt: Source['faultAt']
}

/** Whether a YAML file is a manifest rather than another file. */
export const isManifest = (value: unknown): boolean => isObject(value) && 'agent_config' in value

/** Reads a manifest and reports everything that is wrong with it, in the order of its lines. */
export function readManifest(text: string): ReadManifest {
  const source = readSource(text)
  const { faultAt } = source
  const failed = (faults: readonly ManifestFault[]) => ({ manifest: undefined, faults: inOrder(faults), faultAt })
  if (source.faults.length > 0) return failed(source.faults)
  if (!isObject(source.value)) return failed([faultAt([], 'is not a manifest: it needs id and agent_config')])
  const parsed = Manifest.safeParse(source.value)
  const faults = parsed.success ? [] : schemaFaults(source, Manifest, parsed.error)
  // References are checked as far as the parts are valid, so that one run of the check finds everything.
  const whole = parsed.success ? parsed.data : Manifest.safeParse(withoutFaulty(source.value, faults)).data
  if (whole) faults.push(...referenceFaults(whole, source), ...scriptFaults(whole, source))
  return parsed.success && faults.length === 0 ? { manifest: parsed.data, faults, faultAt } : failed(faults)
}

const inOrder = (faults: readonly ManifestFault[]) =>
  [...faults].sort((a, b) => a.line - b.line || a.column - b.column).slice(0, 200)

/** Removes unknown fields and faulty optional ones. Other faults stay, and the result is then not checked further. */
function withoutFaulty(value: unknown, faults: readonly ManifestFault[]): unknown {
  const copy = structuredClone(value)
  for (const { path } of faults) {
    const parts = path.split(/[.[\]]+/).filter((part) => part !== '')
    const last = parts.pop()
    const parent = parts.reduce<unknown>((at, part) => (at as Record<string, unknown> | undefined)?.[part], copy)
    if (last !== undefined && isObject(parent)) delete (parent as Record<string, unknown>)[last]
  }
  return copy
}

function scriptFaults({ agent_config: { llms } }: Manifest, { faultAt }: Source): ManifestFault[] {
  return (['generation', 'evaluation'] as const).flatMap((name) => {
    const llm = llms[name]
    const path: Path = ['agent_config', 'llms', name]
    if (!llm || llm.ai_provider !== undefined) return []
    const faults: ManifestFault[] = []
    if (llm.provider === 'openai-compatible' && llm.base_url === undefined)
      faults.push(faultAt(path, 'has no base_url'))
    if (llm.provider !== 'replay' && llm.model === undefined) faults.push(faultAt(path, 'has no model'))
    if ((llm.provider === 'replay') !== (llm.script !== undefined)) {
      const message = 'is for replay providers, and they need one'
      faults.push(faultAt([...path, 'script'], message))
    } else if (llm.script !== undefined) {
      try {
        loadScript(llm.script)
      } catch (error) {
        if (!(error instanceof PlatformError)) throw error
        faults.push(faultAt([...path, 'script'], error.message))
      }
    }
    return faults
  })
}
