import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createPlatform, defineToolType, done, toolTypes } from 'quartermaster'
import { readConfig } from 'quartermaster/config'
import { Quartermaster } from 'quartermaster/sdk'
import { z } from 'zod'

// A custom tool type. Its tools have a field "greeting" and run in this process.
const greeting = defineToolType({
  type: 'greeting',
  title: 'Greeting',
  description: 'Greets someone.',
  many: false,
  config: z.object({ greeting: z.strictObject({ words: z.string(), signed_with: z.string().min(8) }) }),
  secrets: ({ greeting }) => [greeting.signed_with],
  actions: ({ name, description }) => [
    {
      name,
      description,
      schema: { type: 'object', properties: { name: { type: 'string' } }, required: ['name'] },
      idempotent: true,
      destructive: false,
    },
  ],
  execute: async ({ config, input }) => done(`${config.greeting.words}, ${input.name}!`),
})

const data = await mkdtemp(join(tmpdir(), 'embedded-'))
const key = 'sk_of_my_own_program'
const platform = await createPlatform(
  readConfig({ data }, { QM_ADMIN_KEY: key, QM_LOG_LEVEL: 'error', QM_EMBEDDINGS: 'off' }),
  { toolTypes: [...toolTypes, greeting] },
)
const qm = new Quartermaster({
  baseUrl: 'http://embedded',
  token: key,
  fetch: (url, init) => platform.fetch(url, init),
})

// A tool that searches the documents on the platform. An agent could use it.
await qm.documents.createDocument({ body: { path: '/hours.md', content: 'We are open from nine to five.' } })
const tool = await qm.tools.createTool({
  body: { name: 'handbook', type: 'platform', actions: ['search-documents'], preset_parameters: { limit: 1 } },
})
const found = await qm.tools.callTool({
  path: { tool_id: tool.data?.id ?? '' },
  body: { action: 'search-documents', input: { query: 'open' } },
})
console.log(JSON.stringify((found.data as { data: { path: string }[] }).data.map(({ path }) => path)))

// The types of the SDK know only the built-in tool types.
const greet = { name: 'greet', type: 'greeting', greeting: { words: 'Bom dia', signed_with: 'correct-horse' } }
await qm.tools.createTool({ body: greet as never })
const greeted = await qm.tools.callTool({ path: { tool_id: 'greet' }, body: { input: { name: 'Ana' } } })
console.log(greeted.data)

await platform.close()
await rm(data, { recursive: true, force: true })
