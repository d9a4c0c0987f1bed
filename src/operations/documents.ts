import { z } from 'zod'
import { Document, DocumentMatch, DocumentSummary, Path } from '../model/document.ts'
import { Id, Paging, pageOf, Tags, Text } from '../model/page.ts'
import { acts, creates, lists, type RecordKind, requireAllowed } from './operation.ts'

const document: RecordKind<DocumentSummary> = {
  name: 'document',
  find: (id, store) => store.documents.find(id),
  resource: ({ id, project_id, path, tags }) => ({ projectId: project_id ?? null, kind: 'document', id, path, tags }),
}

const whole = document as RecordKind<Document>

export const createDocument = creates({
  name: 'create-document',
  permission: 'documents:CreateDocument',
  route: 'POST /documents',
  summary: 'Create a text document',
  example: { path: '/handbook/refunds.md', content: 'Refunds take two days.', tags: { team: 'support' } },
  kind: 'document',
  resource: ({ path, tags }) => ({ path, tags }),
  input: z.strictObject({ project_id: Id.optional(), path: Path, content: Text, tags: Tags.default({}) }),
  output: Document,
  run: ({ project_id: _, ...content }, { store, projectId }) => store.documents.create(projectId, content),
})

export const listDocuments = lists({
  name: 'list-documents',
  permission: 'documents:ListDocuments',
  route: 'GET /documents',
  summary: 'List documents, without their text',
  of: document,
  input: z.strictObject({ project_id: Id.optional(), path_prefix: Text.max(1024).optional(), ...Paging }),
  output: pageOf(DocumentSummary),
  run: (input, { store, visible }) => store.documents.list(input, visible),
})

export const searchDocuments = lists({
  name: 'search-documents',
  permission: 'documents:SearchDocuments',
  route: 'POST /documents/search',
  summary: 'Search documents by keywords, best matches first',
  example: { query: 'refunds' },
  of: document,
  input: z.strictObject({
    project_id: Id.optional(),
    query: Text.min(1).max(2000).describe('Search terms'),
    limit: z.int().min(1).max(100).default(10).describe('Maximum number of results'),
  }),
  output: pageOf(DocumentMatch),
  async run({ project_id, query, limit }, { store, visible }) {
    const words = [...new Set(query.toLowerCase().match(/[\p{L}\p{N}]+/gu) ?? [])].slice(0, 50)
    const data = await store.documents.search({ project_ids: project_id ? [project_id] : null, words, limit }, visible)
    return { data, total: data.length, limit, offset: 0 }
  },
})

export const getDocument = acts({
  name: 'get-document',
  permission: 'documents:GetDocument',
  route: 'GET /documents/{document_id}',
  summary: 'Get a document',
  on: whole,
  input: z.strictObject({ id: Id }),
  output: Document,
  run: async (_, { target }) => target,
})

export const updateDocument = acts({
  name: 'update-document',
  permission: 'documents:UpdateDocument',
  route: 'PATCH /documents/{document_id}',
  summary: 'Change a document',
  example: { content: 'Refunds take three days.' },
  on: whole,
  input: z.strictObject({ id: Id, path: Path.optional(), content: Text.optional(), tags: Tags.optional() }),
  output: Document,
  async run({ id, ...change }, { store, target, principal }) {
    // The caller needs access to the new path and tags as well.
    const { path = target.path, tags = target.tags } = change
    requireAllowed(principal, 'documents:UpdateDocument', whole.resource({ ...target, path, tags }))
    return (await store.documents.update(id, change)) ?? target
  },
})

export const deleteDocument = acts({
  name: 'delete-document',
  permission: 'documents:DeleteDocument',
  route: 'DELETE /documents/{document_id}',
  summary: 'Delete a document',
  status: 204,
  on: whole,
  input: z.strictObject({ id: Id }),
  output: z.null(),
  async run({ id }, { store }) {
    await store.documents.remove(id)
    return null
  },
})
