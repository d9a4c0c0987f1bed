import type { ReactNode } from 'react'
import { Failure } from '../api.ts'
import { Button } from './button.tsx'
import { UpstreamError } from './upstream-error.tsx'

/** An error message with its code. */
export function ErrorNotice({ error, retry }: { error: unknown; retry?: () => void }) {
  if (!error) return null
  const failure = error instanceof Failure ? error : undefined
  return (
    <div role="alert" className="rounded-md border border-bad/40 bg-bad-wash px-3 py-2 text-sm">
      <p className="break-words">
        {failure && <span className="mr-2 font-mono text-xs font-semibold text-bad">{failure.code}</span>}
        {failure && failure.faults.length > 0 ? 'Some fields are invalid:' : (error as Error).message}
      </p>
      {failure && failure.faults.length > 0 && (
        <ul className="mt-1 list-disc pl-5">
          {failure.faults.map(({ path, message }) => (
            <li key={`${path} ${message}`} className="break-words">
              {path !== '' && <code className="font-mono text-xs font-semibold">{path}</code>} {message}
            </li>
          ))}
        </ul>
      )}
      {failure && <UpstreamError details={failure.details} />}
      {retry && (
        <Button className="mt-2" onClick={retry}>
          Try again
        </Button>
      )}
    </div>
  )
}

/** An empty state, with the next step. */
export const Empty = ({ title, children, action }: { title: string; children?: ReactNode; action?: ReactNode }) => (
  <div className="rounded-lg border border-dashed border-edge/60 px-6 py-10 text-center">
    <h2>{title}</h2>
    {children && <div className="mx-auto mt-1 max-w-lg text-sm text-soft">{children}</div>}
    {action && <div className="mt-4 flex flex-wrap justify-center gap-2">{action}</div>}
  </div>
)

export const Loading = ({ what = 'Loading' }: { what?: string }) => (
  <p role="status" className="py-8 text-center text-sm text-soft">
    {what}…
  </p>
)

export interface QueryState<Data> {
  readonly data: Data | undefined
  readonly error: unknown
  refetch(): unknown
}

/** Renders the data, the error or the loading state of a query. */
export function Answered<Data>({ query, children }: { query: QueryState<Data>; children: (data: Data) => ReactNode }) {
  if (query.data !== undefined) return children(query.data)
  if (query.error) return <ErrorNotice error={query.error} retry={() => query.refetch()} />
  return <Loading />
}
