import type { Logger } from 'pino'
import type { Store } from '../store/store.ts'
import { Vault, type VaultOptions } from './vault.ts'

/** Opens the vault at startup. Re-encrypts secrets of the previous key, and logs a warning for those it cannot decrypt. */
export async function openVault(
  options: Omit<VaultOptions, 'settings'>,
  store: Pick<Store, 'settings' | 'sealed'>,
  log: Logger,
): Promise<Vault> {
  const vault = await Vault.open({ ...options, settings: store.settings })
  const { renewed, unreadable, missing } = await vault.renew(store)
  const fault = await vault.findFault()
  if (fault !== undefined) {
    log.warn(fault)
    return vault
  }
  if (missing.length > 0) {
    log.warn(
      `Some secrets are encrypted with the key ${missing.join(' and ')}, which this process does not have. Start it with that key as QM_SECRET_KEY_PREVIOUS, or set the secrets again.`,
    )
  }
  for (const place of unreadable) {
    log.warn(
      `The secret stored at ${place} was modified or moved in the database and cannot be decrypted. Set it again.`,
    )
  }
  if (options.previousSecretKey !== undefined) {
    log.info(
      { renewed, sealed_with: vault.source },
      'no secret needs QM_SECRET_KEY_PREVIOUS any more: remove it once all processes have restarted',
    )
  }
  return vault
}
