import { Redactor } from '../../credentials/redactor.ts'
import { secretsIn } from '../../credentials/tool-secrets.ts'
import type { Json } from '../../lib/json.ts'
import type { ModelAnswer, ModelDelta, ModelRequest } from './model.ts'

/** The key and the headers of a provider, open. */
export interface Credentials {
  readonly apiKey: string | null
  readonly headers: Readonly<Record<string, string>>
}

/** Takes what a provider is asked with out of what it says. */
export const redactorOf = ({ apiKey, headers }: Credentials): Redactor =>
  new Redactor([apiKey ?? '', ...Object.values(headers), ...secretsIn(headers)])

/** Asks, and takes the provider's credentials out of the answer, also while it comes in parts. */
export async function askRedacted(
  request: ModelRequest,
  redactor: Redactor,
  ask: (request: ModelRequest) => Promise<ModelAnswer>,
): Promise<ModelAnswer> {
  if (redactor.isEmpty) return ask(request)
  const { onDelta } = request
  const told = onDelta && redactedDeltas(redactor, (delta) => onDelta(delta))
  const answer = await ask({ ...request, ...(told && { onDelta: told.take }) })
  told?.end()
  const { text, reasoning, tool_calls } = answer
  return {
    ...answer,
    text: redactor.text(text),
    reasoning: reasoning && redactor.text(reasoning),
    tool_calls: redactor.value(tool_calls as unknown as Json) as unknown as ModelAnswer['tool_calls'],
  }
}

function redactedDeltas(redactor: Redactor, tell: (delta: ModelDelta) => void) {
  let stream = redactor.stream()
  /** The latest delta with text: the next one of the same kind goes on with it. */
  let last: Extract<ModelDelta, { text: string }> | undefined
  const say = (text: string) => {
    if (last && text !== '') tell({ ...last, text })
  }
  const end = () => {
    say(stream.end())
    last = undefined
  }
  return {
    end,
    take(delta: ModelDelta) {
      if (!('text' in delta)) {
        // The model starts over: discard the text that was held back.
        if (delta.type === 'reset') stream = redactor.stream()
        end()
        return tell(delta)
      }
      const goesOn = last?.type === delta.type && (last as { id?: string }).id === (delta as { id?: string }).id
      if (!goesOn) end()
      last = delta
      say(stream.push(delta.text))
    },
  }
}
