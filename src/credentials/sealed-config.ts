import { sealedAt } from '../store/sealed.ts'
import type { SealedConfig } from '../store/tools.ts'
import { type HiddenConfig, hideSecrets, type SecretText } from './config-secrets.ts'
import type { Vault } from './vault.ts'

/** Moves the secrets of a tool's config into an encrypted text that is bound to the tool. */
export async function sealConfig(
  config: object,
  secrets: readonly string[],
  toolId: string,
  vault: Pick<Vault, 'seal'>,
): Promise<SealedConfig> {
  const hidden = hideSecrets(config, secrets)
  if (hidden.texts.length === 0) return { config, secrets: '' }
  return {
    config: hidden.config,
    secrets: await vault.seal(JSON.stringify(hidden.texts), sealedAt.toolSecrets(toolId)),
  }
}

/** Decrypts the secrets of a stored config. */
export function openConfig(
  { config, secrets }: { readonly config: object; readonly secrets: string | null },
  toolId: string,
  vault: Pick<Vault, 'open'>,
): HiddenConfig {
  if (!secrets) return { config, texts: [] }
  return { config, texts: JSON.parse(vault.open(secrets, sealedAt.toolSecrets(toolId))) as SecretText[] }
}
