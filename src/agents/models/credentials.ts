import { Redactor } from '../../credentials/redactor.ts'
import { secretsIn } from '../../credentials/tool-secrets.ts'
import type { Json } from '../../lib/json.ts'
import type { ModelAnswer, ModelDelta, ModelRequest } from './model.ts'

/** The decrypted key and headers of a provider. */
export interface Credentials {
  readonly apiKey: string | null
  readonly headers: Readonly<Record<string, string>>
}

/** Redacts a provider's credentials from its responses. */
export const redactorOf = ({ apiKey, headers }: Credentials): Redactor =>
  new Redactor([apiKey ?? '', ...Object.values(headers), ...secretsIn(headers)])

/** Calls the model, and redacts the provider's credentials from the answer and from its deltas. */
export async function askRedacted(
  request: ModelRequest,
  redactor: Redactor,
  ask: (request: ModelRequest) => Promise<ModelAnswer>,
): Promise<ModelAnswer> {
  if (redactor.isEmpty) return ask(request)
  const { onDelta } = request
  const deltas = onDelta && redactedDeltas(redactor, (delta) => onDelta(delta))
  const answer = await ask({ ...request, ...(deltas && { onDelta: deltas.take }) })
  deltas?.end()
  const { text, reasoning, tool_calls } = answer
  return {
    ...answer,
    text: redactor.text(text),
    reasoning: reasoning && redactor.text(reasoning),
    tool_calls: redactor.value(tool_calls as unknown as Json) as unknown as ModelAnswer['tool_calls'],
  }
}

function redactedDeltas(redactor: Redactor, emit: (delta: ModelDelta) => void) {
  let stream = redactor.stream()
  /** The latest delta with text. The next one of the same type and id continues its text. */
  let last: Extract<ModelDelta, { text: string }> | undefined
  const emitText = (text: string) => {
    if (last && text !== '') emit({ ...last, text })
  }
  const end = () => {
    emitText(stream.end())
    last = undefined
  }
  return {
    end,
    take(delta: ModelDelta) {
      if (!('text' in delta)) {
        // The model starts over: discard the text that was held back.
        if (delta.type === 'reset') stream = redactor.stream()
        end()
        return emit(delta)
      }
      const continues = last?.type === delta.type && (last as { id?: string }).id === (delta as { id?: string }).id
      if (!continues) end()
      last = delta
      emitText(stream.push(delta.text))
    },
  }
}
