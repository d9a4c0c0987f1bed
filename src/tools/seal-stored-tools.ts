import type { Logger } from 'pino'
import { sealParts } from '../credentials/sealed-config.ts'
import type { Vault } from '../credentials/vault.ts'
import { PlatformError } from '../model/errors.ts'
import type { Tools } from '../store/tools.ts'
import type { ToolTypes } from './tool-types.ts'

const batch = 200

/**
 * Encrypts the credentials of tools that were stored before credentials were encrypted. Several processes can do this at
 * the same time: each row is changed once. Tools of unknown types stay as they are until a platform has the type.
 */
export async function sealStoredTools(
  tools: Pick<Tools, 'unsealed' | 'seal'>,
  types: ToolTypes,
  vault: Pick<Vault, 'seal'>,
  log: Logger,
): Promise<void> {
  let sealed = 0
  for (let last = ''; ; ) {
    const found = await tools.unsealed(last, batch)
    for (const row of found) {
      const type = types.find(row.type)
      if (!type) continue
      try {
        const next = await sealParts(row, type.secrets(row.config), row.id, vault)
        if ((await tools.seal(row, next)) && next.secrets !== '') sealed++
      } catch (error) {
        if (!(error instanceof PlatformError)) throw error
        log.warn({ tool: row.id }, `The credentials of a tool could not be encrypted. ${error.message}`)
        return
      }
    }
    last = found.at(-1)?.id ?? last
    if (found.length < batch) break
  }
  if (sealed > 0) log.info({ tools: sealed }, 'encrypted the credentials of tools that were stored unencrypted')
}
