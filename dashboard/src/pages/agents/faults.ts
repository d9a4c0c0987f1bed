import { Failure } from '../../api.ts'

/** What is wrong with a field, or with something inside it, with the place. */
export const faultsOf = (error: unknown) => {
  const faults = error instanceof Failure ? error.faults : []
  return (path: string): string | undefined => {
    const found = faults.filter(
      (fault) => fault.path === path || fault.path.startsWith(`${path}.`) || fault.path.startsWith(`${path}[`),
    )
    if (found.length === 0) return undefined
    return found
      .map((fault) => (fault.path === path ? fault.message : `${fault.path.slice(path.length)}: ${fault.message}`))
      .join('; ')
  }
}
