import { z } from 'zod'
import { defineToolType } from './tool-type.ts'

/** A function in the caller's own process: the platform describes it to models and hands their calls back. */
export const client = defineToolType({
  type: 'client',
  many: false,
  config: z.object({ parameters: z.unknown() }),
  check: () => [],
  actions: (tool) => [
    {
      name: tool.name,
      description: tool.description,
      schema: tool.parameters ?? {},
      idempotent: false,
      destructive: true,
    },
  ],
})
