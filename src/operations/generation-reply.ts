import type { z } from 'zod'
import { openAiStream } from '../agents/openai-stream.ts'
import { failureOf } from '../agents/result.ts'
import { type GenerationResult, isOver } from '../model/generation.ts'
import { Waiting } from '../model/outcome.ts'
import type { Run } from '../store/generations.ts'
import type { Journal } from '../store/journal.ts'
import { type Context, type EventStream, JsonText } from './operation.ts'

/** Waits until the run pauses or ends. A caller that resumes its call gets `Waiting` instead of blocking. */
export async function answerOf(run: Run, context: Context): Promise<z.infer<typeof GenerationResult> | Waiting> {
  const { runner, store, onWait, generation: within } = context
  if (within && onWait === 'resume') {
    const current = (await store.generations.find(run.id)) ?? run
    if (!isOver(current.status)) return new Waiting({ kind: 'generation', id: run.id })
    return ended(await runner.result(current))
  }
  return ended(await runner.result(await runner.settled(run.id)))
}

/** For callers who do not wait. */
export const later = (result: z.infer<typeof GenerationResult>) => new JsonText(JSON.stringify(result), 202)

/** Throws the error of a run that failed. */
function ended(result: z.infer<typeof GenerationResult>): z.infer<typeof GenerationResult> {
  const failure = failureOf(result)
  if (failure) throw failure
  return result
}

/** Streams events until the run pauses or ends. Events that are already in `journal` are left out. */
export function streamOf(run: Run, format: 'openai' | 'events', { runner }: Context, journal?: Journal): EventStream {
  return {
    async subscribe(send, end) {
      const chunks = openAiStream(run.settings.model)
      return runner.watch(
        run.id,
        (event) => {
          if (format === 'events') send({ name: event.type, data: event })
          else for (const chunk of chunks(event)) send(chunk)
        },
        end,
        journal,
      )
    },
  }
}
