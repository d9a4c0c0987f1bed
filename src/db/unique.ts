import { PlatformError } from '../model/errors.ts'
import type { Engine } from './engine.ts'

/** Writes a row with a unique name. Throws `NAME_TAKEN` if the name is in use. */
export async function uniquely<T>(engine: Engine, kind: string, name: string, write: () => Promise<T>): Promise<T> {
  try {
    return await write()
  } catch (error) {
    if (engine.isDuplicate(error)) throw new PlatformError('NAME_TAKEN', { kind, name })
    throw error
  }
}
