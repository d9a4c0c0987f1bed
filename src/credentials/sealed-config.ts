import { isObject, type Json, type JsonObject } from '../lib/json.ts'
import { sealedAt } from '../store/sealed.ts'
import type { SealedParts } from '../store/tools.ts'
import { type HiddenConfig, hideSecrets, revealSecrets, type SecretText } from './config-secrets.ts'
import { isSecretField } from './names.ts'
import type { Vault } from './vault.ts'

/** The parts of a tool that can contain secrets. */
export interface ToolParts {
  readonly config: object
  readonly preset_parameters: JsonObject | null
}

/** As in the API, presets are a field beside those of the config. */
export const fieldsOf = ({ config, preset_parameters }: ToolParts): object => ({ ...config, preset_parameters })

export function partsOf(fields: object): ToolParts {
  const { preset_parameters, ...config } = fields as { preset_parameters: JsonObject | null }
  return { config, preset_parameters }
}

/** The texts of presets whose name says that they are credentials. */
export function secretPresets(presets: Json, isSecret = false): string[] {
  if (typeof presets === 'string') return isSecret ? [presets] : []
  if (Array.isArray(presets)) return presets.flatMap((item) => secretPresets(item, isSecret))
  if (!isObject(presets)) return []
  return Object.entries(presets).flatMap(([key, value]) => secretPresets(value, isSecret || isSecretField(key)))
}

/** Masks the secrets of a tool. `secrets` are those of its config. */
export const hideParts = (parts: ToolParts, secrets: readonly string[]): HiddenConfig =>
  hideSecrets(fieldsOf(parts), [...secrets, ...secretPresets(parts.preset_parameters)])

/** Moves the secrets of a tool into an encrypted text that is bound to the tool. */
export async function sealParts(
  parts: ToolParts,
  secrets: readonly string[],
  toolId: string,
  vault: Pick<Vault, 'seal'>,
): Promise<SealedParts> {
  const { config, texts } = hideParts(parts, secrets)
  const sealed = texts.length === 0 ? '' : await vault.seal(JSON.stringify(texts), sealedAt.toolSecrets(toolId))
  return { ...partsOf(config), secrets: sealed }
}

/** Undoes `sealParts`. */
export function openParts(
  parts: ToolParts & { readonly secrets: string | null },
  toolId: string,
  vault: Pick<Vault, 'open'>,
): ToolParts {
  if (!parts.secrets) return { config: parts.config, preset_parameters: parts.preset_parameters }
  const texts = JSON.parse(vault.open(parts.secrets, sealedAt.toolSecrets(toolId))) as SecretText[]
  return partsOf(revealSecrets({ config: fieldsOf(parts), texts }))
}
