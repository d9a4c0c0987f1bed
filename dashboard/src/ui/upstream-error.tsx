import { JsonView, TextView } from './text.tsx'

/** The error response of the tool's endpoint, as text. It often says what to change. */
export function UpstreamError({ details }: { details: Readonly<Record<string, unknown>> }) {
  const body = details.tool_response_body
  if (body === undefined || body === null || body === '') return null
  return (
    <section aria-label="Tool response" className="mt-2">
      <h3 className="mb-1">
        Tool response
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
