import { expect, test } from 'vitest'
import { indexAction } from './indexed-action.ts'
import { Index } from './postings.ts'
import { read } from './query.ts'
import { scopeOf } from './scope.ts'

const actions = [
  ['discord', 'send_message', 'Send a message to a channel'],
  ['googledrive', 'upload_file', 'Upload a file'],
  ['salesforce-crm', 'list_contacts', 'List contacts'],
  ['line', 'push_message', 'Push a message to a line'],
  ['code', 'run_script', 'Run JavaScript or Python code'],
] as const

async function missing(text: string) {
  const index = new Index()
  const ids = actions.map(([app, name, description]) => index.add(indexAction({ app, name, description, schema: {} })))
  return read(text, index, await scopeOf(index, Uint32Array.from(ids))).missingApp
}

test.each([
  ['Send a message Slack', 'Slack'],
  ['can you post this to slack and tell Ana?', undefined],
  ['Can you post this in Slack for Ana?', 'Slack'],
  ['Upload a file to Google Photos', 'Google Photos'],
  ['Add a contact QuickBooks', 'QuickBooks'],
  ['Get payment details Checkout.com', 'Checkout.com'],
  ['List contacts Zyntra Forms', 'Zyntra Forms'],
  ['Could you please list the contacts of Ana using Zyntra?', 'Zyntra'],
])('"%s" names %s, which is missing', async (text, name) => {
  expect(await missing(text)).toBe(name)
})

test.each([
  'Send a message Discord',
  'Upload a file Google Drive',
  'Upload a file to GoogleDrive',
  'List contacts Salesforce',
  'Send a message to ana@slack.com',
  'Run some JavaScript code',
  'Send a message to the team about our plans for Lisbon',
  'List contacts',
  'Could you please list the contacts that we met in Recife on Monday?',
])('"%s" names no app that is missing', async (text) => {
  expect(await missing(text)).toBeUndefined()
})
