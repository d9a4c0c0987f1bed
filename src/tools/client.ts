import { z } from 'zod'
import { checkParameters, Parameters } from './parameters.ts'
import { defineToolType } from './tool-type.ts'

/**
 * A function in the caller's own process. The platform describes it to models and returns their calls to the caller.
 */
export const client = defineToolType({
  type: 'client',
  title: 'Client',
  description: 'A function in the application that runs the agent. The application receives the calls.',
  many: false,
  config: z.object({ parameters: Parameters }),
  check: (draft, { schemas }) => checkParameters(draft, schemas),
  secrets: () => [],
  actions: ({ name, description, config }) => [
    { name, description, schema: config.parameters, idempotent: false, destructive: true },
  ],
})
