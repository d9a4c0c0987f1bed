import type { Tone } from '../../ui/badge.tsx'

const states: Record<string, readonly [Tone, string]> = {
  asked: ['accent', 'is being asked for'],
  running: ['accent', 'runs'],
  awaiting_client: ['warn', 'waits for you'],
  awaiting_approval: ['warn', 'waits for a decision'],
  awaiting_generation: ['accent', 'another agent runs'],
  done: ['good', 'done'],
  failed: ['bad', 'failed'],
  stopped: ['plain', 'stopped'],
}

export const callState = (status: string): readonly [Tone, string] => states[status] ?? ['plain', status]

/** What went wrong, in the words that the model was told it in. */
export function problemOf(output: unknown): { code: string | null; message: string } {
  const { error, message } = (typeof output === 'object' && output !== null ? output : {}) as {
    error?: { code?: string; message?: string } | string
    message?: string
  }
  if (typeof error === 'object' && error?.message) return { code: error.code ?? null, message: error.message }
  const text = typeof output === 'string' ? output : (message ?? (typeof error === 'string' ? error : null))
  return { code: null, message: cut(text ?? JSON.stringify(output) ?? '') }
}

const cut = (text: string, most = 300) => (text.length > most ? `${text.slice(0, most)}…` : text)

/** The arguments in a line. */
export function inShort(args: unknown): string {
  if (args === undefined || args === null) return ''
  if (typeof args === 'string') return cut(args, 120)
  const parts: string[] = []
  for (const [name, value] of Object.entries(args as object)) {
    if (parts.length === 6) break
    parts.push(`${name}: ${cut(typeof value === 'string' ? value : (JSON.stringify(value) ?? ''), 60)}`)
  }
  return parts.join(', ')
}
