import { execFileSync } from 'node:child_process'
import { setTimeout as sleep } from 'node:timers/promises'
import { type Outcome, Quartermaster } from 'quartermaster/sdk'
import { startCompany } from './company.ts'
import { programFor } from './program.ts'

const { QM_URL = 'http://127.0.0.1:4600', QM_KEY = '' } = process.env
const admin = new Quartermaster({ baseUrl: QM_URL, token: QM_KEY })
const company = await startCompany()

function must<Data>(outcome: Outcome<Data>): Data {
  if (outcome.error) throw new Error(outcome.error.message)
  return outcome.data as Data
}

// The tools, the workflow and the server are in a file.
const path = (name: string) => new URL(name, import.meta.url).pathname
execFileSync(process.execPath, [path('../../bin/quartermaster.js'), 'apply', path('quartermaster.yaml')], {
  env: { ...process.env, QM_URL, QM_KEY, COMPANY_URL: company.url },
})

// Nobody can approve their own calls, so the app and the reviewer have keys of their own.
const clientWith = async (name: string, policy: string) => {
  const body = { name: `${name} ${Date.now()}`, access_policy_ids: [policy] }
  return new Quartermaster({ baseUrl: QM_URL, token: must(await admin.apiKeys.createApiKey({ body })).key })
}
const app = await clientWith('onboarding app', 'pol_caller')
const reviewer = await clientWith('Rita', 'pol_reviewer')

/** What Rita does on the dashboard. */
async function approveNext(): Promise<void> {
  for (;;) {
    const { data } = must(await reviewer.approvals.listApprovals({ query: { status: 'pending' } }))
    for (const { id, action } of data) {
      console.log(`  Rita approves ${action}`)
      must(await reviewer.approvals.approveCall({ path: { approval_id: id } }))
    }
    if (data.length > 0) return
    await sleep(50)
  }
}

// The workflow. The run waits for Rita without a process, so it could be a day.
const [tool] = must(await admin.tools.listTools({ query: { name: 'onboard' } })).data
async function onboard(domain: string) {
  const started = must(await app.tools.startWorkflowRun({ body: { tool_id: tool?.id ?? '', input: { domain } } }))
  if (!('steps' in started)) throw new Error('the workflow itself needs an approval')
  await approveNext()
  for (;;) {
    const run = must(await admin.workflowRuns.getWorkflowRun({ path: { workflow_run_id: started.id } }))
    if (run.completed_at) return run
    await sleep(50)
  }
}
for (const domain of ['ana.example', 'broke.example']) {
  console.log(`workflow for ${domain}`)
  const run = await onboard(domain)
  console.log(`  ${run.steps.map(({ id, status }) => `${id} ${status}`).join(', ')}`)
  console.log(`  ${run.status}: ${run.error ? run.error.message : JSON.stringify(run.output)}`)
  console.log(`  effects: ${company.takeEffects().join(', ')}`)
}

// Code mode: one program instead of nine calls of a model.
const tools = must(await app.servers.tools('onboarding'))
console.log('program for eva.example')
const [result] = await Promise.all([tools.call('EXECUTE_CODE', { code: programFor('eva.example') }), approveNext()])
console.log(`  ${result.content[0]?.text}`)
console.log(`  effects: ${company.takeEffects().join(', ')}`)
company.close()
