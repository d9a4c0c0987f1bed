const known = [
  ['approval.requested', 'A call needs approval'],
  ['generation.completed', 'An agent run completed'],
  ['generation.failed', 'An agent run failed'],
  ['generation.requires_action', 'An agent run needs the output of a client tool'],
  ['connection.created', 'An account was connected'],
  ['connection.expiring', 'A connected account expires soon and cannot be refreshed'],
  ['connection.reauth_required', 'A connected account must be reconnected'],
  ['connection.revoked', 'A connected account was revoked'],
  ['connection.restored', 'A connected account works again'],
  ['oauth_grant.revoked', 'The access of an app was revoked, by someone or because a token was reused'],
  ['session.event', 'A session has a new event'],
] as const

/** Selects events, or all current and future ones. */
export function EventsField({
  events,
  onChange,
  error,
}: {
  events: readonly string[]
  onChange: (events: readonly string[]) => void
  error?: string | undefined
}) {
  const isAll = events.includes('*')
  const set = (event: string, isOn: boolean) =>
    onChange(isOn ? [...events, event] : events.filter((one) => one !== event))
  return (
    <fieldset>
      <legend className="mb-1 text-sm font-medium">Events</legend>
      <ul className="space-y-1 text-sm">
        <li>
          <Choice
            name="All events, including future ones"
            checked={isAll}
            onChange={(isOn) => onChange(isOn ? ['*'] : [])}
          />
        </li>
        {!isAll &&
          known.map(([event, about]) => (
            <li key={event}>
              <Choice
                name={event}
                about={about}
                checked={events.includes(event)}
                onChange={(isOn) => set(event, isOn)}
              />
            </li>
          ))}
      </ul>
      {error && <p className="mt-1 text-xs text-bad">{error}</p>}
    </fieldset>
  )
}

const Choice = ({
  name,
  about,
  checked,
  onChange,
}: {
  name: string
  about?: string
  checked: boolean
  onChange: (isOn: boolean) => void
}) => (
  <label className="flex items-start gap-2">
    <input
      type="checkbox"
      className="mt-1 accent-accent"
      checked={checked}
      onChange={(event) => onChange(event.target.checked)}
    />
    <span>
      {about ? <code className="font-mono text-xs">{name}</code> : name}
      {about && <span className="block text-xs text-soft">{about}</span>}
    </span>
  </label>
)
