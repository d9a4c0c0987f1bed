import type { Logger } from 'pino'
import type { Store } from '../store/store.ts'
import { Vault, type VaultOptions } from './vault.ts'

/** The vault at a start: with what the key before has sealed sealed anew, and a word on all that does not open. */
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
      `Some secrets are sealed with the key ${missing.join(' and ')}, which this process does not have. Start it with that key as QM_SECRET_KEY_PREVIOUS, or set them again.`,
    )
  }
  for (const place of unreadable) {
    log.warn(`The secret kept at ${place} was changed or moved in the database and cannot be opened: set it again.`)
  }
  if (options.previousSecretKey !== undefined) {
    log.info(
      { renewed, sealed_with: vault.source },
      'no secret needs QM_SECRET_KEY_PREVIOUS any more: take it away once all processes were restarted',
    )
  }
  return vault
}
