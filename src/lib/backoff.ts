/**
 * Exponential backoff: the delay after a number of consecutive failures doubles each time, up to a limit. Includes jitter
 * between 50% and 100%, so that clients that failed together do not retry together.
 */
export function backoffMs(failures: number, { firstMs, maxMs }: { firstMs: number; maxMs: number }): number {
  const whole = Math.min(maxMs, firstMs * 2 ** (failures - 1))
  return whole * (0.5 + Math.random() / 2)
}
