import { expect, test } from 'vitest'
import { withCommands } from './routes.ts'

test.each([
  ['Create it with POST /secrets.', 'Create it with quartermaster create-secret.'],
  ['Set one with PATCH /ai-providers/{id}.', 'Set one with quartermaster update-ai-provider --ai-provider-id ….'],
  [
    'Review it (GET /tools/tool_1/definition-changes).',
    'Review it (quartermaster list-definition-changes --tool-id tool_1).',
  ],
  ['Use POST /connections/link, and call again.', 'Use quartermaster create-connect-link, and call again.'],
  ['GET /api/v1/openapi.json lists all routes.', 'GET /api/v1/openapi.json lists all routes.'],
  ['The URL returned 404 to GET /orders/7.', 'The URL returned 404 to GET /orders/7.'],
])('a message names commands instead of routes: %s', (message, expected) => {
  expect(withCommands(message)).toBe(expected)
})
