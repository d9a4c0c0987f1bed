import { JsonView, TextView } from './text.tsx'

/** What the tool's own endpoint answered when it failed, as text: it often says what to change. */
export function UpstreamError({ details }: { details: Readonly<Record<string, unknown>> }) {
  const body = details.tool_response_body
  if (body === undefined || body === null || body === '') return null
  return (
    <section aria-label="Response of the tool" className="mt-2">
      <h3 className="mb-1">
        Response of the tool
        {typeof details.tool_status_code === 'number' && (
          <span className="ml-1 font-normal text-soft">(HTTP {details.tool_status_code})</span>
        )}
      </h3>
      {typeof body === 'string' ? (
        <TextView text={body} name="response.txt" />
      ) : (
        <JsonView value={body} name="response.json" />
      )}
    </section>
  )
}
