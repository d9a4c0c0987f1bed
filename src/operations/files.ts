import { z } from 'zod'
import { File, Path } from '../model/document.ts'
import { PlatformError } from '../model/errors.ts'
import { Id, Paging, pageOf, Tags } from '../model/page.ts'
import { acts, type Context, creates, type Download, lists, type RecordKind, requireAllowed } from './operation.ts'

const file: RecordKind<File> = {
  name: 'file',
  find: (id, store) => store.files.find(id),
  resource: ({ id, project_id, path, tags }) => ({ projectId: project_id ?? null, kind: 'file', id, path, tags }),
}

const ContentType = z
  .string()
  .max(200)
  .regex(
    /^[\w!#$&^.+-]+\/[\w!#$&^.+-]+(\s*;\s*[\w-]+=("[^"\\]*"|[\w.+-]+))*$/,
    'must be a media type, such as "image/png"',
  )

export const createFile = creates({
  name: 'create-file',
  permission: 'files:CreateFile',
  route: 'POST /files',
  summary: 'Create a file; upload large content with upload-file afterwards',
  example: { path: '/logo.svg', content: '<svg xmlns="http://www.w3.org/2000/svg"/>', content_type: 'image/svg+xml' },
  kind: 'file',
  resource: ({ path, tags }) => ({ path, tags }),
  input: z.strictObject({
    project_id: Id.optional(),
    path: Path,
    content: z.string().default('').describe('The content as text, or in base64'),
    encoding: z.enum(['utf8', 'base64']).default('utf8'),
    content_type: ContentType.optional(),
    tags: Tags.default({}),
  }),
  output: File,
  async run({ path, content, encoding, content_type, tags }, { store, projectId, limits }) {
    if (encoding === 'base64' && !/^[A-Za-z0-9+/_-]*={0,2}$/.test(content)) {
      throw new PlatformError('VALIDATION_FAILED', { errors: [{ path: 'content', message: 'is not valid base64' }] })
    }
    const bytes = Buffer.from(content, encoding)
    const type = content_type ?? (encoding === 'utf8' ? 'text/plain; charset=utf-8' : 'application/octet-stream')
    const stored = await store.files.store(once(bytes), limits.fileBytes)
    return store.files.create(projectId, { path, content_type: type, tags }, stored)
  },
})

export const listFiles = lists({
  name: 'list-files',
  permission: 'files:ListFiles',
  route: 'GET /files',
  summary: 'List files',
  of: file,
  input: z.strictObject({ project_id: Id.optional(), ...Paging }),
  output: pageOf(File),
  run: (input, { store, visible }) => store.files.list(input, visible),
})

export const getFile = acts({
  name: 'get-file',
  permission: 'files:GetFile',
  route: 'GET /files/{file_id}',
  summary: 'Get the metadata of a file',
  on: file,
  input: z.strictObject({ id: Id }),
  output: File,
  run: async (_, { target }) => target,
})

/** The maximum size that fits into a model's context. Larger files have to be downloaded. */
const readable = 1024 * 1024

export const readFile = acts({
  name: 'read-file',
  permission: 'files:ReadFile',
  route: 'GET /files/{file_id}/text',
  summary: 'Read part of a file as text or base64',
  on: file,
  input: z.strictObject({
    id: Id,
    encoding: z.enum(['utf8', 'base64']).default('utf8'),
    start: z.int().min(0).default(0).describe('Offset of the first byte'),
    length: z.int().min(1).max(readable).default(readable).describe('Maximum number of bytes'),
  }),
  output: z.object({ content: z.string(), encoding: z.string(), start: z.int(), end: z.int(), size: z.int() }),
  async run({ id, encoding, start, length }, { store, target }) {
    const end = Math.min(start + length, target.size)
    const parts: Uint8Array[] = []
    if (start < end) for await (const part of store.files.read(id, start, end)) parts.push(part)
    return {
      content: Buffer.concat(parts).toString(encoding),
      encoding,
      start,
      end: Math.max(start, end),
      size: target.size,
    }
  },
})

export const updateFile = acts({
  name: 'update-file',
  permission: 'files:UpdateFile',
  route: 'PATCH /files/{file_id}',
  summary: 'Change the path, media type or tags of a file',
  example: { path: '/brand/logo.svg' },
  on: file,
  input: z.strictObject({ id: Id, path: Path.optional(), content_type: ContentType.optional(), tags: Tags.optional() }),
  output: File,
  async run({ id, ...change }, { store, target, principal }) {
    // The caller needs access to the new path and tags as well.
    const { path = target.path, tags = target.tags } = change
    requireAllowed(principal, 'files:UpdateFile', file.resource({ ...target, path, tags }))
    return (await store.files.update(id, change)) ?? target
  },
})

export const uploadFile = acts({
  name: 'upload-file',
  permission: 'files:UploadFile',
  route: 'PUT /files/{file_id}/content',
  summary: 'Upload the content of a file, streamed from the request body',
  accepts: 'bytes',
  on: file,
  input: z.strictObject({ id: Id }),
  output: File,
  async run({ id }, { store, target, body, limits }) {
    const stored = await store.files.store(body ?? once(new Uint8Array()), limits.fileBytes)
    return (await store.files.update(id, {}, stored)) ?? target
  },
})

export const downloadFile = acts({
  name: 'download-file',
  permission: 'files:DownloadFile',
  route: 'GET /files/{file_id}/content',
  summary: 'Download the content of a file; supports Range requests',
  answers: 'bytes',
  on: file,
  input: z.strictObject({ id: Id }),
  output: z.unknown(),
  async run({ id }, { store, target, range }): Promise<Download> {
    const part = range === undefined ? undefined : partOf(range, target.size)
    const { start, end } = part ?? { start: 0, end: target.size }
    return {
      bytes: store.files.read(id, start, end),
      contentType: target.content_type,
      size: target.size,
      etag: `"${target.sha256}"`,
      ...(part && { part }),
    }
  },
})

export const deleteFile = acts({
  name: 'delete-file',
  permission: 'files:DeleteFile',
  route: 'DELETE /files/{file_id}',
  summary: 'Delete a file',
  status: 204,
  on: file,
  input: z.strictObject({ id: Id }),
  output: z.null(),
  async run({ id }, { store }) {
    await store.files.remove(id)
    return null
  },
})

/** The content of a file, for an operation that uses it. The caller needs permission to read it. */
export async function readProjectFile(
  id: string,
  projectId: string,
  { store, principal }: Pick<Context, 'store' | 'principal'>,
): Promise<Uint8Array> {
  const found = await store.files.find(id)
  if (!found || found.project_id !== projectId) throw new PlatformError('RESOURCE_NOT_FOUND', { kind: 'file', id })
  requireAllowed(principal, 'files:ReadFile', file.resource(found))
  const parts: Uint8Array[] = []
  for await (const part of store.files.read(id, 0, found.size)) parts.push(part)
  return Buffer.concat(parts)
}

async function* once(bytes: Uint8Array): AsyncGenerator<Uint8Array> {
  yield bytes
}

/** Parses one byte range: `bytes=0-99`, `bytes=100-` or `bytes=-50`. Anything else is ignored, as RFC 9110 allows. */
function partOf(range: string, size: number): { start: number; end: number } | undefined {
  const [, first = '', last = ''] = /^bytes=(\d*)-(\d*)$/.exec(range) ?? []
  if (first === '' && last === '') return undefined
  const start = first === '' ? Math.max(size - Number(last), 0) : Number(first)
  const end = first === '' || last === '' ? size : Math.min(Number(last) + 1, size)
  if (start >= end) throw new PlatformError('RANGE_NOT_SATISFIABLE', { size })
  return { start, end }
}
