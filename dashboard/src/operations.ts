import { useQuery } from '@tanstack/react-query'

export interface OperationInfo {
  readonly command: string
  readonly permission: string
  readonly summary: string
  /** Whether its response is JSON, so that it can be an action of a platform tool. */
  readonly isAction: boolean
}

interface Described {
  readonly 'x-command': string
  readonly 'x-permission': string
  readonly summary: string
  readonly requestBody?: { readonly content: Record<string, unknown> }
  readonly responses: Record<string, { readonly content?: Record<string, unknown> }>
}

interface Document {
  readonly paths: Readonly<Record<string, Readonly<Record<string, Described>>>>
  readonly 'x-permissions': readonly string[]
}

/** The OpenAPI document of the platform. */
const useDocument = <Part>(select: (document: Document) => Part) =>
  useQuery({
    queryKey: ['openapi'],
    staleTime: Number.POSITIVE_INFINITY,
    queryFn: async (): Promise<Document> => (await fetch('/api/v1/openapi.json')).json(),
    select,
  })

/** All operations of the platform. */
export const useOperations = () => useDocument(operationsOf)

/** All permissions that an access policy can name. */
export const usePermissions = () => useDocument(permissionsOf)

const permissionsOf = (document: Document): readonly string[] => document['x-permissions']

const operationsOf = ({ paths }: Document): OperationInfo[] =>
  Object.values(paths)
    .flatMap((methods) => Object.values(methods))
    .map((one) => ({
      command: one['x-command'],
      permission: one['x-permission'],
      summary: one.summary,
      isAction:
        !one.requestBody?.content['*/*'] &&
        Object.values(one.responses).every(({ content }) => !content || 'application/json' in content),
    }))
    .sort((a, b) => a.command.localeCompare(b.command))
