import { isDeepStrictEqual } from 'node:util'
import { maskedPaths, restoreSecrets, secretTexts } from '../credentials/config-secrets.ts'
import { fieldsOf, hideParts, partsOf, sealParts, secretPresets, type ToolParts } from '../credentials/sealed-config.ts'
import { masked } from '../credentials/tool-secrets.ts'
import type { Fault, PlatformError } from '../model/errors.ts'
import type { ToolDraft } from '../model/tool.ts'
import type { SealedDraft, StoredTool, ToolRecord } from '../store/tools.ts'
import type { ToolType } from '../tools/tool-type.ts'
import type { ToolTypes } from '../tools/tool-types.ts'
import type { Context } from './operation.ts'

/** A tool before it is changed, as it is stored and with its secrets. */
export interface ToolBefore {
  readonly stored: StoredTool
  readonly tool: ToolRecord
  /** Set if its secrets cannot be decrypted. */
  readonly fault?: PlatformError
}

/** A tool for people who can change it: its secrets are masked. A row from before they were sealed still has them. */
export const withMasks = (tool: StoredTool, type: ToolType): StoredTool =>
  tool.secrets === null ? { ...tool, ...partsOf(hideParts(tool, type.secrets(tool.config)).config) } : tool

export const sealed = async (
  draft: ToolDraft,
  id: string,
  { toolTypes, vault }: Pick<Context, 'toolTypes' | 'vault'>,
): Promise<SealedDraft> => ({
  ...draft,
  ...(await sealParts(draft, toolTypes.of(draft).secrets(draft.config), id, vault)),
})

export interface Unmasked {
  /** The fields of the config and the presets, with the secrets that masks stand for. */
  readonly fields: Readonly<Record<string, unknown>>
  /** Paths of secrets that the caller did not send. */
  readonly kept: readonly string[]
  readonly faults: readonly Fault[]
}

/** Applies a change to the config and the presets of a tool. Fields and masks that stay the same keep their secrets. */
export function unmask(
  sent: Readonly<Record<string, unknown>>,
  type: ToolType,
  before: ToolBefore | undefined,
  types: ToolTypes,
): Unmasked {
  if (!before) return { fields: sent, kept: [], faults: [] }
  const shown = fieldsOf(withMasks(before.stored, types.of(before.stored)))
  const fields = { ...shown, ...sent }
  // Tools of another type may send the secrets anywhere.
  if (before.tool.type !== type.type) return { fields, kept: [], faults: [] }
  if (before.fault && JSON.stringify(fields).includes(masked)) throw before.fault
  const texts = secretTexts(shown, fieldsOf(before.tool))
  const { config, restored, unknown } = restoreSecrets(fields, { config: shown, texts })
  return { fields: { ...config }, kept: restored, faults: unknown.map((path) => ({ path, message: sendAgain })) }
}

const sendAgain = 'is masked: send the value again'

/** Reports masks that stand for no secret, and secrets that would be sent elsewhere than before. */
export function checkSecrets(
  parts: ToolParts,
  type: ToolType,
  before: ToolBefore | undefined,
  kept: readonly string[],
): Fault[] {
  const secrets = [...type.secrets(parts.config), ...secretPresets(parts.preset_parameters)]
  return [
    ...maskedPaths(fieldsOf(parts), secrets).map((path) => ({ path, message: sendAgain })),
    ...checkDestination(parts, type, before, kept, type.prepare ? addressesOf : destinationOf),
  ]
}

/** Reports secrets that the caller did not send, if they would be sent elsewhere than before. `prepare` may change that. */
export function checkDestination(
  { config }: Pick<ToolParts, 'config'>,
  type: ToolType,
  before: ToolBefore | undefined,
  kept: readonly string[],
  goesTo: (type: ToolType, config: object) => unknown = destinationOf,
): Fault[] {
  if (!before || kept.length === 0) return []
  if (isDeepStrictEqual(goesTo(type, config), goesTo(type, before.tool.config))) return []
  const message = 'must be sent again, because the tool would send it to another destination'
  return kept.map((path) => ({ path, message }))
}

const destinationOf = (type: ToolType, config: object): unknown =>
  type.secretsGoTo ? type.secretsGoTo(config) : addressesOf(type, config)

/** What is known before the config is complete. */
const addressesOf = (type: ToolType, config: object): unknown =>
  type.addresses?.(config).map((url) => URL.parse(url)?.origin ?? url)
