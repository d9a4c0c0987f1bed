/** The result of one check. */
export interface Finding {
  /** `port`, `clock`. */
  readonly check: string
  readonly state: 'fine' | 'wrong' | 'skipped'
  readonly what: string
  /** How to fix the problem. */
  readonly advice?: string
}

export const fine = (check: string, what: string): Finding => ({ check, state: 'fine', what })
export const skipped = (check: string, what: string): Finding => ({ check, state: 'skipped', what })
export const wrong = (check: string, what: string, advice: string): Finding => ({ check, state: 'wrong', what, advice })

export const reasonOf = (error: unknown): string => {
  const { message, cause, code } = error as Error & { code?: string; cause?: Error & { code?: string } }
  return (message || cause?.message || cause?.code || code || String(error)).replace(/\.$/, '')
}
