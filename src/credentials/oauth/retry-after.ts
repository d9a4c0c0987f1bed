const maxMs = 3_600_000

/** The `Retry-After` of a response, in seconds or as a date, of an hour at most. */
export function retryAfterOf(response: Response): number | undefined {
  const text = response.headers.get('retry-after')?.trim()
  if (!text) return undefined
  const ms = /^\d+$/.test(text) ? Number(text) * 1000 : Date.parse(text) - Date.now()
  return Number.isNaN(ms) ? undefined : Math.min(Math.max(ms, 0), maxMs)
}
