import { execFile } from 'node:child_process'
import { readdir, readFile } from 'node:fs/promises'
import { request as ask, createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { startListening } from './clients.ts'
import { playClient } from './conformance-client.ts'
import { startConformanceLibrary } from './conformance-library.ts'
import { conformanceTools } from './conformance-upstream.ts'
import { adminKey, startService } from './kit.ts'
import { temporaryFolder } from './process.ts'
import { inParallel } from './soak.ts'
import { startUpstream, type UpstreamTool } from './upstream.ts'

/** Scenarios mostly wait, so several run at once. */
const atOnce = 4
const suite = new URL('../node_modules/@modelcontextprotocol/conformance/dist/index.js', import.meta.url).pathname

const everyEra = [
  'tools-list',
  'tools-call-simple-text',
  'tools-call-image',
  'tools-call-audio',
  'tools-call-embedded-resource',
  'tools-call-mixed-content',
  'tools-call-error',
  'tools-call-with-progress',
  'json-schema-2020-12',
  'resources-list',
  'resources-read-text',
  'resources-read-binary',
  'resources-templates-read',
  'prompts-list',
  'prompts-get-simple',
  'prompts-get-with-args',
  'prompts-get-embedded-resource',
  'prompts-get-with-image',
  'completion-complete',
  'dns-rebinding-protection',
]

/** docs/decisions/2026-11-18-mcp-pass-through.md explains which scenarios are missing here. */
const scenarios = {
  '2025-11-25': [
    'server-initialize',
    'server-session-lifecycle',
    'server-sse-multiple-streams',
    'ping',
    'logging-set-level',
    'tools-call-with-logging',
    'tools-call-sampling',
    'tools-call-elicitation',
    'elicitation-sep1034-defaults',
    'elicitation-sep1330-enums',
    'resources-subscribe',
    'resources-unsubscribe',
    ...everyEra,
  ],
  '2026-07-28': [
    'server-stateless',
    'http-header-validation',
    'http-custom-header-server-validation',
    'server-sse-multiple-streams',
    'input-required-result-basic-elicitation',
    'input-required-result-basic-sampling',
    'input-required-result-basic-list-roots',
    'input-required-result-request-state',
    'input-required-result-multiple-input-requests',
    'input-required-result-multi-round',
    'input-required-result-missing-input-response',
    'input-required-result-result-type',
    'input-required-result-unsupported-methods',
    'input-required-result-tampered-state',
    'input-required-result-capability-check',
    'input-required-result-ignore-extra-params',
    'input-required-result-validate-input',
    'sep-2640-skills-enumeration',
    'sep-2640-skills-manifest',
    'sep-2164-resource-not-found',
    'caching',
    ...everyEra,
  ],
}

/** A proxy that adds an API key, because the suite sends none. */
async function startRelay(target: URL): Promise<{ url: string } & AsyncDisposable> {
  const server = createServer((incoming, answer) => {
    const headers = { ...incoming.headers, authorization: `Bearer ${adminKey}` }
    const options = { host: target.hostname, port: target.port, path: incoming.url, method: incoming.method, headers }
    const outgoing = ask(options, (response) => {
      answer.writeHead(response.statusCode ?? 502, response.headers)
      response.pipe(answer)
    })
    outgoing.on('error', () => answer.destroy())
    answer.on('close', () => outgoing.destroy())
    incoming.pipe(outgoing)
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}

const runSuite = (...args: string[]) =>
  new Promise<{ code: number; output: string }>((resolve) => {
    execFile(process.execPath, [suite, ...args], { timeout: 120_000 }, (error, stdout, stderr) =>
      resolve({ code: Number(error?.code ?? 0), output: stdout + stderr }),
    )
  })

interface Check {
  readonly status: 'SUCCESS' | 'FAILURE' | 'WARNING' | 'INFO'
}

/** Runs all scenarios of the suite for a version in one process. Returns the names of those that passed without a warning. */
async function passedTogether(args: readonly string[]): Promise<Set<string>> {
  await using folder = await temporaryFolder()
  await runSuite(...args, '--suite', 'all', '--output-dir', folder.path)
  const passed = new Set<string>()
  for (const entry of await readdir(folder.path)) {
    const [, name = ''] = /^server-(.+)-\d{4}-\d\d-\d\dT/.exec(entry) ?? []
    const checks: Check[] = JSON.parse(await readFile(join(folder.path, entry, 'checks.json'), 'utf8'))
    const statuses = new Set(checks.map(({ status }) => status))
    if (statuses.has('SUCCESS') && !statuses.has('FAILURE') && !statuses.has('WARNING')) passed.add(name)
  }
  return passed
}

/** Some checks of the suite time out in less than a second. They are retried, because a busy machine may be slower. */
async function expectPassed(name: string, args: readonly string[]): Promise<void> {
  const passed = /Passed: \d+\/\d+, 0 failed, 0 warnings/
  let last = await runSuite(...args, '--scenario', name)
  for (let tries = 1; tries < 3 && !passed.test(last.output); tries++)
    last = await runSuite(...args, '--scenario', name)
  expect(last.output, name).toMatch(passed)
  expect(last.code, name).toBe(0)
}

describe.each(Object.entries(scenarios))(
  'the official conformance suite for %s, through the platform',
  (version, names) => {
    test('passes every scenario that applies to a gateway', { timeout: 300_000 }, async () => {
      const tools: UpstreamTool[] = [
        ...conformanceTools,
        {
          name: 'test_trigger_tool_change',
          inputSchema: { type: 'object' },
          run() {
            upstream.change([...tools])
            return { content: [{ type: 'text', text: 'changed' }] }
          },
        },
        {
          name: 'test_trigger_prompt_change',
          inputSchema: { type: 'object' },
          run() {
            upstream.promptsChanged()
            return { content: [{ type: 'text', text: 'changed' }] }
          },
        },
      ]
      await using upstream = await startUpstream(tools, 'both', { hasPrompts: true })
      await using library = await startConformanceLibrary()
      await using platform = await startListening()
      await platform.post('/tools', { name: 'up', type: 'mcp', mcp: { url: upstream.url } })
      await platform.post('/tools', { name: 'library', type: 'mcp', mcp: { url: library.url } })
      await platform.post('/servers', { slug: 's', tool_names: 'original', retrieve_skill: true })
      await platform.post('/skills', { name: 'Pay back', summary: 'How to pay back', content: '# Pay back\n' })
      await using relay = await startRelay(new URL(platform.url))

      const args = ['server', '--url', `${relay.url}/mcp/s`, '--spec-version', version]
      const passed = await passedTogether(args)
      expect(passed.size).toBeGreaterThan(everyEra.length)
      // Extensions are not in the list of any version, so their scenarios are forced and run one by one.
      const others = names.filter((name) => !passed.has(name))
      await inParallel(others, atOnce, (name) => expectPassed(name, [...args, '--force']))
    })
  },
)

test('every list and every resource has caching hints: 8 of 8 checks', async () => {
  await using library = await startConformanceLibrary()
  await using platform = await startListening()
  await platform.post('/tools', { name: 'library', type: 'mcp', mcp: { url: library.url } })
  await platform.post('/servers', { slug: 's' })
  await using relay = await startRelay(new URL(platform.url))

  const { output } = await runSuite('server', '--url', `${relay.url}/mcp/s`, '--scenario', 'caching')

  expect(output).toMatch(/Passed: 8\/8, 0 failed, 0 warnings/)
})

const clientScenarios = {
  '2025-11-25': [
    'initialize',
    'tools_call',
    'elicitation-sep1034-client-defaults',
    'sse-retry',
    'json-schema-2020-12-preservation',
  ],
  '2026-07-28': [
    'tools_call',
    'request-metadata',
    'sep-2322-client-request-state',
    'http-standard-headers',
    'http-custom-headers',
    'http-invalid-tool-headers',
    'json-schema-ref-no-deref',
    'json-schema-2020-12-preservation',
  ],
}

/** Scenarios of extensions belong to no version, so they are forced. */
const authExtensions = ['client-credentials-jwt', 'client-credentials-basic', 'enterprise-managed-authorization']

const authEveryVersion = [
  ...['metadata-default', 'metadata-var1', 'metadata-var2', 'metadata-var3', 'basic-cimd', 'pre-registration'],
  ...['scope-from-www-authenticate', 'scope-from-scopes-supported', 'scope-omitted-when-undefined'],
  ...['scope-step-up', 'scope-retry-limit'],
  ...['token-endpoint-auth-basic', 'token-endpoint-auth-post', 'token-endpoint-auth-none'],
]

const authScenarios = {
  '2025-11-25': authEveryVersion,
  '2026-07-28': [
    ...authEveryVersion,
    ...['resource-mismatch', 'offline-access-scope', 'offline-access-not-supported', 'authorization-server-migration'],
    ...['iss-supported', 'iss-not-advertised', 'iss-supported-missing', 'iss-wrong-issuer', 'iss-unexpected'],
    ...['iss-normalized', 'metadata-issuer-mismatch'],
    ...authExtensions,
  ],
}

describe.each(Object.entries(clientScenarios))(
  'the servers of the official conformance suite for %s, behind the platform',
  (version, names) => {
    test('report no errors in how the platform calls them, without OAuth', { timeout: 300_000 }, async () => {
      await using player = await startService(async ({ body }) => {
        await playClient(JSON.parse(body))
        return undefined
      })
      const driver = new URL('./conformance-driver.ts', import.meta.url).pathname
      const command = `"${process.execPath}" "${driver}" ${player.url}`

      await inParallel(names, atOnce, (name) =>
        expectPassed(name, ['client', '--command', command, '--spec-version', version]),
      )
    })
  },
)

describe.each(Object.entries(authScenarios))(
  'the protected servers of the official conformance suite for %s, behind the platform',
  (version, names) => {
    test('are connected on the hosted page and called as the specification requires (S4.13) (S4.14) (S4.15)', {
      timeout: 300_000,
    }, async () => {
      await using player = await startService(async ({ body }) => {
        await playClient(JSON.parse(body))
        return undefined
      })
      const driver = new URL('./conformance-driver.ts', import.meta.url).pathname
      const command = `"${process.execPath}" "${driver}" ${player.url}`

      await inParallel(names, atOnce, (name) =>
        expectPassed(`auth/${name}`, [
          ...['client', '--command', command, '--spec-version', version],
          ...(authExtensions.includes(name) ? ['--force'] : []),
        ]),
      )
    })
  },
)
