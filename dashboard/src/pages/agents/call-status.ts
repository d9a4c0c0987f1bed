import type { Tone } from '../../ui/badge.tsx'

const states: Record<string, readonly [Tone, string]> = {
  asked: ['accent', 'requested'],
  running: ['accent', 'running'],
  awaiting_client: ['warn', 'waiting for you'],
  awaiting_approval: ['warn', 'waiting for approval'],
  awaiting_generation: ['accent', 'agent running'],
  awaiting_connection: ['warn', 'waiting for an account'],
  awaiting_workflow: ['accent', 'workflow running'],
  done: ['good', 'done'],
  failed: ['bad', 'failed'],
  stopped: ['plain', 'stopped'],
}

export const callState = (status: string): readonly [Tone, string] => states[status] ?? ['plain', status]

/** The error as it was sent to the model. */
export function problemOf(output: unknown): { code: string | null; message: string } {
  const { error, message } = (typeof output === 'object' && output !== null ? output : {}) as {
    error?: { code?: string; message?: string } | string
    message?: string
  }
  if (typeof error === 'object' && error?.message) return { code: error.code ?? null, message: error.message }
  const text = typeof output === 'string' ? output : (message ?? (typeof error === 'string' ? error : null))
  return { code: null, message: cut(text ?? JSON.stringify(output) ?? '') }
}

const cut = (text: string, maxLength = 300) => (text.length > maxLength ? `${text.slice(0, maxLength)}…` : text)

/** The arguments in one line. */
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
