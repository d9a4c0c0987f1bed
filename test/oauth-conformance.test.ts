import { execFile } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { describe, expect, test } from 'vitest'
import { startService } from './kit.ts'
import { playOAuthClient } from './oauth-conformance-client.ts'
import { inParallel } from './soak.ts'

const suite = fileURLToPath(new URL('../node_modules/@modelcontextprotocol/conformance/dist/index.js', import.meta.url))
const driver = fileURLToPath(new URL('conformance-driver.ts', import.meta.url))

const everyEra = [
  'metadata-default',
  'metadata-var1',
  'metadata-var2',
  'metadata-var3',
  'basic-cimd',
  'scope-from-www-authenticate',
  'scope-from-scopes-supported',
  'scope-omitted-when-undefined',
  'scope-step-up',
  'scope-retry-limit',
  'token-endpoint-auth-basic',
  'token-endpoint-auth-post',
  'token-endpoint-auth-none',
  'pre-registration',
]

const scenarios = {
  '2025-03-26': ['2025-03-26-oauth-metadata-backcompat'],
  '2025-11-25': everyEra,
  '2026-07-28': [
    ...everyEra,
    'resource-mismatch',
    'offline-access-scope',
    'offline-access-not-supported',
    'authorization-server-migration',
    'iss-supported',
    'iss-not-advertised',
    'iss-supported-missing',
    'iss-wrong-issuer',
    'iss-unexpected',
    'iss-normalized',
    'metadata-issuer-mismatch',
    // Extensions, which the suite runs only if told to.
    'client-credentials-jwt',
    'client-credentials-basic',
    'enterprise-managed-authorization',
    'wif-jwt-bearer',
  ],
}

const run = (command: string, scenario: string, version: string) =>
  new Promise<string>((resolve) => {
    const args = [
      'client',
      '--command',
      command,
      '--scenario',
      `auth/${scenario}`,
      '--spec-version',
      version,
      '--force',
    ]
    execFile(process.execPath, [suite, ...args], { timeout: 60_000 }, (_error, stdout, stderr) =>
      resolve(stdout + stderr),
    )
  })

describe.each(Object.entries(scenarios))('the official conformance suite for %s', (version, names) => {
  test('passes every scenario about clients of authorization servers', { timeout: 300_000 }, async () => {
    await using player = await startService(async ({ body }) => {
      // Some scenarios expect that the client gives up.
      await playOAuthClient(JSON.parse(body)).catch(() => {})
      return undefined
    })
    const command = `"${process.execPath}" "${driver}" ${player.url}`
    await inParallel(names, 4, async (name) => {
      expect(await run(command, name, version), name).toMatch(/Passed: \d+\/\d+, 0 failed, 0 warnings/)
    })
  })
})
