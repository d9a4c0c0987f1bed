import { useQuery } from '@tanstack/react-query'
import { askAll, qm, type Tool, type ToolType } from './api.ts'

/** The tool types of the platform, including custom ones. */
export const useToolTypes = () =>
  useQuery({
    queryKey: ['tool-types'],
    staleTime: Number.POSITIVE_INFINITY,
    queryFn: () => askAll((page) => qm.tools.listToolTypes({ query: page })),
  })

/** A tool keeps the type name it was registered with, which may be an alias. */
export const typeOf = (tool: Pick<Tool, 'type'>, types: readonly ToolType[] | undefined): ToolType | undefined =>
  types?.find(({ type, aliases }) => type === tool.type || aliases.includes(tool.type))

/** The target of the tool’s calls, in one line. */
export const summaryOf = (tool: Tool, type: ToolType | undefined): string =>
  (type?.summary ?? [])
    .flatMap(
      (path) => path.split('.').reduce<unknown>((at, part) => (at as Fields | undefined | null)?.[part], tool) ?? [],
    )
    .join(' ')

type Fields = Readonly<Record<string, unknown>>
