import { expect, test } from 'vitest'
import { indexAction, type SearchableAction } from './indexed-action.ts'
import { Index } from './postings.ts'
import { rank } from './rank.ts'
import { scopeOf } from './scope.ts'

const subject = (app: string, name: string, description = '', properties: object = {}): SearchableAction => ({
  app,
  name,
  description,
  schema: { properties } as SearchableAction['schema'],
})

const crm = [
  subject('salesforce', 'get_contacts', 'Get many contacts'),
  subject('salesforce', 'get_contact', 'Get a contact'),
  subject('salesforce', 'create_contact', 'Create a contact'),
  subject('salesforce', 'delete_contact', 'Delete a contact'),
  subject('salesforce', 'list_deals', 'List deals'),
  subject('hubspot', 'create_note', 'Create a note'),
  subject('hubspot', 'get_contacts', 'Get many contacts'),
  subject('googledrive', 'googleDrive_file_upload', 'Upload a file'),
  subject('dropbox', 'upload_file', 'Upload a file'),
]

async function search(
  subjects: readonly SearchableAction[],
  seen: (subject: SearchableAction) => boolean = () => true,
) {
  const index = new Index()
  const ids = subjects.map((one) => index.add(indexAction(one)))
  const scope = await scopeOf(index, Uint32Array.from(ids.filter((id) => seen(subjects[id] as SearchableAction))))
  return {
    rank: (text: string) => rank(text, index, scope, undefined),
    names: (text: string) =>
      rank(text, index, scope, undefined).map(({ id }) => `${subjects[id]?.app}/${subjects[id]?.name}`),
  }
}

test.each([
  ['List Contacts Salesforce', 'salesforce/get_contacts'],
  ['fetch a contact from Salesforce', 'salesforce/get_contact'],
  ['Add new contact Salesforce', 'salesforce/create_contact'],
  ['remove contact salesforce', 'salesforce/delete_contact'],
  ['Create Note HubSpot', 'hubspot/create_note'],
  ['Upload file Google Drive', 'googledrive/googleDrive_file_upload'],
  ['upload a file to dropbox', 'dropbox/upload_file'],
])('"%s" finds %s', async (text, name) => {
  const { names } = await search(crm)

  expect(names(text)[0]).toBe(name)
})

test('actions that a caller may not use do not affect the scores of the others', async () => {
  const own = crm.filter(({ app }) => app !== 'hubspot')
  const among = await search(crm, ({ app }) => app !== 'hubspot')
  const alone = await search(own)
  const scores = (found: readonly { score: number; features: object }[]) =>
    found.map(({ score, features }) => ({ score, features }))

  for (const text of ['List Contacts', 'Create Note HubSpot', 'Upload file Google Drive']) {
    expect(scores(among.rank(text))).toEqual(scores(alone.rank(text)))
    expect(among.names(text).some((name) => name.startsWith('hubspot'))).toBe(false)
  }
})

test('any text is accepted, whatever its length and characters', async () => {
  const { rank: find } = await search(crm)

  for (const text of ['', ' ', '!!!', '创建联系人', 'ü'.repeat(5000), 'contact '.repeat(5000), '\u0000\ud800']) {
    expect(() => find(text)).not.toThrow()
  }
  expect(find('')).toEqual([])
})
