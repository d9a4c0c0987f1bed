import { PlatformError } from '../model/errors.ts'
import type { Engine } from './engine.ts'

/** Writes a row whose name must be its own, and says so in a caller's words when it is not. */
export async function uniquely<T>(engine: Engine, kind: string, name: string, write: () => Promise<T>): Promise<T> {
  try {
    return await write()
  } catch (error) {
    if (engine.isDuplicate(error)) throw new PlatformError('NAME_TAKEN', { kind, name })
    throw error
  }
}
