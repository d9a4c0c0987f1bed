import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFile } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'
import { type Outcome, Quartermaster } from 'quartermaster/sdk'

const { QM_URL = 'http://127.0.0.1:4600', QM_KEY = '' } = process.env
const qm = new Quartermaster({ baseUrl: QM_URL, token: QM_KEY })

/** Returns the data, or throws the error of the platform. */
function must<Data>(outcome: Outcome<Data>): Data {
  if (outcome.error) throw new Error(outcome.error.message)
  return outcome.data as Data
}

// The bank's MCP server, in a process of its own.
const crm = spawn(process.execPath, [fileURLToPath(new URL('crm.ts', import.meta.url))], {
  env: { ...process.env, PORT: '0' },
})
const [line] = await once(crm.stdout, 'data')
const [port = ''] = /\d+/.exec(String(line)) ?? []

const file = await readFile(new URL('manifest.yaml', import.meta.url), 'utf8')
const manifest = file.replace('8765', port)

/** Sends a message, and prints what happens until the agent is ready again. */
async function say(session: string, message: string): Promise<void> {
  console.log(`customer: ${message}`)
  const path = { session_id: session }
  let { offset } = must(await qm.sessions.sendSessionMessage({ path, body: { message } }))
  for (;;) {
    const query = { min_offset: offset + 1, wait_for_data: 30 }
    const events = must(await qm.sessions.listSessionEvents({ path, query }))?.data ?? []
    for (const event of events) {
      offset = event.offset
      if (event.kind === 'tool') console.log(`  ${event.tool_id}: ${JSON.stringify(event.result)}`)
      if (event.kind === 'message') console.log(`agent: ${event.message}`)
      if (event.status === 'ready') return
    }
  }
}

for (const [title, text] of [
  ['With the reevaluation tool, one turn is enough:', manifest],
  ['Without it, the answer comes in the next turn:', manifest.replace(/ {4}reevaluation_tools:\n.*\n/, '')],
] as const) {
  console.log(title)
  const { agent } = must(await qm.manifests.applyManifest({ body: { manifest: text } }))
  const session = must(await qm.sessions.createSession({ body: { agent_id: agent.id } }))
  await say(session.id, 'How much is in my savings account? My PIN is 1234.')
  if (text !== manifest) await say(session.id, 'So, how much is it?')
  await qm.sessions.deleteSession({ path: { session_id: session.id } })
}

// Clean up, so that you can run the example again.
const { data: agents } = must(await qm.agents.listAgents({ query: { name: 'bank-desk' } }))
for (const { id, tool_ids, ai_provider_id } of agents) {
  await qm.agents.deleteAgent({ path: { agent_id: id } })
  for (const tool_id of tool_ids) await qm.tools.deleteTool({ path: { tool_id } })
  await qm.aiProviders.deleteAiProvider({ path: { ai_provider_id } })
}
crm.kill()
