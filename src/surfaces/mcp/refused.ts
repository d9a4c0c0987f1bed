import type { Shelved } from '../../catalogue/shelf.ts'
import type { JsonObject } from '../../lib/json.ts'
import { PlatformError } from '../../model/errors.ts'
import type { Visit } from './visit.ts'

/** Does what comes before a call, and records the attempt where that refuses it. */
export async function recordIfRefused<T>(
  visit: Visit,
  target: Shelved | string,
  input: unknown,
  work: () => T | Promise<T>,
): Promise<T> {
  try {
    return await work()
  } catch (error) {
    if (error instanceof PlatformError) await visit.refused(target, input as JsonObject, error)
    throw error
  }
}
