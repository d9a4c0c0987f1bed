import { useModes } from '../queries.ts'
import { Checks } from './checks.tsx'

/** Selects the modes of a key or person. Hidden until there are modes. */
export function ModesField({
  chosen,
  onChange,
}: {
  chosen: readonly string[]
  onChange: (slugs: readonly string[]) => void
}) {
  const { data: modes = [] } = useModes()
  const known = modes.map(({ slug, name }) => ({ id: slug, name, hint: chosen[0] === slug ? 'Default' : null }))
  const deleted = chosen.filter((slug) => !modes.some((mode) => mode.slug === slug))
  const options = [...known, ...deleted.map((slug) => ({ id: slug, name: slug, hint: 'This mode was deleted' }))]
  return options.length === 0 ? null : <Checks label="Modes" options={options} chosen={chosen} onChange={onChange} />
}
