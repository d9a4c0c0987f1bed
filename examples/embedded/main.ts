import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createPlatform } from 'quartermaster'
import { readConfig } from 'quartermaster/config'
import { Quartermaster } from 'quartermaster/sdk'

const data = await mkdtemp(join(tmpdir(), 'embedded-'))
const key = 'sk_of_my_own_program'
const platform = await createPlatform(
  readConfig(['--data', data], { QM_ADMIN_KEY: key, QM_LOG_LEVEL: 'error', QM_EMBEDDINGS: 'off' }),
)
const qm = new Quartermaster({
  baseUrl: 'http://embedded',
  token: key,
  fetch: (url, init) => platform.fetch(url, init),
})

// The platform's own documents, as a tool that an agent could be given.
await qm.documents.createDocument({ body: { path: '/hours.md', content: 'We are open from nine to five.' } })
const tool = await qm.tools.createTool({
  body: { name: 'handbook', type: 'platform', actions: ['search-documents'], preset_parameters: { limit: 1 } },
})
const found = await qm.tools.callTool({
  path: { tool_id: tool.data?.id ?? '' },
  body: { action: 'search-documents', input: { query: 'open' } },
})
console.log(JSON.stringify((found.data as { data: { path: string }[] }).data.map(({ path }) => path)))

await platform.close()
await rm(data, { recursive: true, force: true })
