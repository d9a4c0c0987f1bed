import { hideSecrets, maskedPaths, restoreSecrets, secretTexts } from '../credentials/config-secrets.ts'
import { secretsInUrl } from '../credentials/tool-secrets.ts'
import { PlatformError } from '../model/errors.ts'
import { sealedAt } from '../store/sealed.ts'
import type { SealedUrl } from '../store/webhooks.ts'

/** The URL with its keys masked. */
export const shownUrl = (url: string): string =>
  (hideSecrets({ url }, secretsInUrl(url)).config as { readonly url: string }).url

interface Seals {
  seal(text: string, place: string): string | Promise<string>
}

export async function sealUrl(url: string, webhookId: string, vault: Seals): Promise<SealedUrl> {
  const shown = shownUrl(url)
  return { url: shown, sealed_url: shown === url ? '' : await vault.seal(url, sealedAt.webhookUrl(webhookId)) }
}

/** Replaces masks that a client sends back with the keys they stand for, as long as the host stays the same. */
export function unmaskUrl(sent: string, whole: string): string {
  const shown = { url: shownUrl(whole) }
  const before = { config: shown, texts: secretTexts(shown, { url: whole }) }
  const { config, restored } = restoreSecrets({ url: sent }, before)
  const { url } = config as { readonly url: string }
  if (restored.length > 0 && URL.parse(url)?.origin !== URL.parse(whole)?.origin) {
    throw invalid('must contain its keys again, because they would be sent to another host')
  }
  if (maskedPaths({ url }, secretsInUrl(url)).length > 0) throw invalid('is masked: send the whole URL again')
  return url
}

const invalid = (message: string) => new PlatformError('VALIDATION_FAILED', { errors: [{ path: 'url', message }] })
