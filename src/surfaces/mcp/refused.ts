import type { ServerAction } from '../../catalogue/server-catalogue.ts'
import type { JsonObject } from '../../lib/json.ts'
import { PlatformError } from '../../model/errors.ts'
import type { ServerRequest } from './server-request.ts'

/** Runs the steps before a call, and records the attempt if they refuse it. */
export async function recordIfRefused<T>(
  request: ServerRequest,
  target: ServerAction | string,
  input: unknown,
  work: () => T | Promise<T>,
): Promise<T> {
  try {
    return await work()
  } catch (error) {
    if (error instanceof PlatformError) await request.refused(target, input as JsonObject, error)
    throw error
  }
}
