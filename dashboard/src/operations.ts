import { useQuery } from '@tanstack/react-query'

export interface OperationInfo {
  readonly command: string
  readonly permission: string
  readonly summary: string
  /** Whether its answer is JSON, so that it can be an action of a platform tool. */
  readonly isAction: boolean
}

interface Described {
  readonly 'x-command': string
  readonly 'x-permission': string
  readonly summary: string
  readonly requestBody?: { readonly content: Record<string, unknown> }
  readonly responses: Record<string, { readonly content?: Record<string, unknown> }>
}

/** What the platform can do, in its own words. */
export const useOperations = () =>
  useQuery({
    queryKey: ['operations'],
    staleTime: Number.POSITIVE_INFINITY,
    queryFn: async (): Promise<OperationInfo[]> => {
      const document = await (await fetch('/api/v1/openapi.json')).json()
      const described = Object.values(document.paths as Record<string, Record<string, Described>>).flatMap((methods) =>
        Object.values(methods),
      )
      return described
        .map((one) => ({
          command: one['x-command'],
          permission: one['x-permission'],
          summary: one.summary,
          isAction:
            !one.requestBody?.content['*/*'] &&
            Object.values(one.responses).every(({ content }) => !content || 'application/json' in content),
        }))
        .sort((a, b) => a.command.localeCompare(b.command))
    },
  })
