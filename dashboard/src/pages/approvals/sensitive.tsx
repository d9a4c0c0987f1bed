import type { Approval } from '../../api.ts'

type One = Approval['sensitive'][number]

/** Lists hidden and sensitive arguments, so that reviewers do not approve them by mistake. */
export function SensitiveNotes({ sensitive }: { sensitive: readonly One[] }) {
  if (sensitive.length === 0) return null
  return (
    <ul
      aria-label="Sensitive arguments"
      className="mb-3 list-disc space-y-1 rounded-md border border-warn/40 bg-warn-wash py-2 pr-3 pl-7 text-sm"
    >
      {sensitive.map((one) => (
        <li key={`${one.path} ${one.reason}`} className="break-words">
          <code className="font-mono">{one.path}</code> {inWords(one)}
        </li>
      ))}
    </ul>
  )
}

const units: Partial<Record<One['type'], string>> = { string: 'characters', array: 'items', object: 'fields' }

function inWords({ type, length, reason, hidden }: One): string {
  const size = length === null ? type : `${type}, ${length} ${units[type] ?? ''}`
  if (!hidden) return `looks like a credential (${size}). It is shown because the tool does not declare it secret.`
  const why = {
    schema: 'the tool declares it secret',
    api_key: 'it contains an API key',
    name: 'it looks like a credential',
    depth: 'it is nested too deep',
  }[reason]
  return `is hidden (${size}): ${why}. If you approve, it runs as it was sent.`
}
