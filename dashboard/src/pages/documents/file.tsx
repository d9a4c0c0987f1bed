import { useQuery } from '@tanstack/react-query'
import { useNavigate, useParams } from '@tanstack/react-router'
import { useRef } from 'react'
import { ask, type File as FileRecord, qm } from '../../api.ts'
import { bytes, when } from '../../format.ts'
import { Button, buttonClass } from '../../ui/button.tsx'
import { ConfirmButton } from '../../ui/dialog.tsx'
import { Answered, ErrorNotice } from '../../ui/notice.tsx'
import { Facts, PageHead, Panel } from '../../ui/panel.tsx'
import { TextView } from '../../ui/text.tsx'
import { useAction } from '../../use-action.ts'

const contentOf = ({ id }: FileRecord) => `/api/v1/files/${id}/content`

export function StoredFile() {
  const { fileId } = useParams({ from: '/files/$fileId' })
  const file = useQuery({
    queryKey: ['file', fileId],
    queryFn: () => ask(qm.files.getFile({ path: { file_id: fileId } })),
  })
  return <Answered query={file}>{(record) => <Whole file={record} />}</Answered>
}

function Whole({ file }: { file: FileRecord }) {
  const navigate = useNavigate()
  const remove = useAction(() => ask(qm.files.deleteFile({ path: { file_id: file.id } })), {
    changes: ['files'],
    onDone: () => void navigate({ to: '/documents', search: { tab: 'files' } }),
  })
  return (
    <>
      <PageHead
        title={<span className="font-mono text-lg break-all">{file.path}</span>}
        actions={
          <>
            <Replace file={file} />
            <a href={contentOf(file)} download={file.path.split('/').at(-1)} className={buttonClass()}>
              Download
            </a>
            <ConfirmButton
              label="Delete"
              title={`Delete ${file.path}?`}
              confirm="Delete file"
              onConfirm={() => remove.runAsync()}
            >
              This cannot be undone.
            </ConfirmButton>
          </>
        }
      />
      <div className="grid items-start gap-4 lg:grid-cols-[minmax(0,2fr)_minmax(16rem,1fr)]">
        <Panel title="Content">
          <Preview file={file} />
        </Panel>
        <Panel title="Details">
          <Facts
            facts={[
              ['Type', file.content_type],
              ['Size', bytes(file.size)],
              [
                'Tags',
                Object.entries(file.tags)
                  .map(([name, value]) => `${name}: ${value}`)
                  .join(', ') || '–',
              ],
              ['Created', when(file.created_at)],
              ['Updated', when(file.updated_at)],
              [
                'SHA-256',
                <code key="hash" className="font-mono text-xs break-all">
                  {file.sha256}
                </code>,
              ],
              [
                'ID',
                <code key="id" className="font-mono text-xs break-all">
                  {file.id}
                </code>,
              ],
            ]}
          />
        </Panel>
      </div>
    </>
  )
}

const isImage = /^image\/(png|jpeg|gif|webp|avif)\b/i
const largestImage = 10 * 1024 * 1024
const isText = /^(text\/|application\/(json|xml|yaml|x-yaml|javascript|x-ndjson)\b)|\+(json|xml)\b/i

function Preview({ file }: { file: FileRecord }) {
  const isReadable = isText.test(file.content_type)
  const text = useQuery({
    queryKey: ['file-text', file.id, file.sha256],
    enabled: isReadable,
    queryFn: () => ask(qm.files.readFile({ path: { file_id: file.id } })),
  })
  if (file.size === 0) return <p className="text-sm text-soft">The file is empty.</p>
  if (isImage.test(file.content_type) && file.size <= largestImage) return <ImagePreview file={file} />
  if (!isReadable) return <p className="text-sm text-soft">No preview for this type. Download the file to see it.</p>
  return (
    <Answered query={text}>
      {({ content, end, size }) => (
        <>
          <TextView text={content} name={file.path.split('/').at(-1) ?? 'file.txt'} />
          {end < size && (
            <p className="mt-2 text-xs text-soft">
              The first {bytes(end)} are shown. Download the file to see the rest.
            </p>
          )}
        </>
      )}
    </Answered>
  )
}

/** Reloads when the content changes, because its URL stays the same. */
function ImagePreview({ file }: { file: FileRecord }) {
  const image = useQuery({
    queryKey: ['file-image', file.id, file.sha256],
    queryFn: async () => {
      const stream = await ask(qm.files.downloadFile({ path: { file_id: file.id } }))
      const content = new Uint8Array(await new Response(stream).arrayBuffer())
      return `data:${file.content_type};base64,${content.toBase64()}`
    },
  })
  return (
    <Answered query={image}>
      {(address) => <img src={address} alt={file.path} className="max-h-[70dvh] max-w-full rounded-md" />}
    </Answered>
  )
}

function Replace({ file }: { file: FileRecord }) {
  const input = useRef<HTMLInputElement>(null)
  const replace = useAction((body: File) => ask(qm.files.uploadFile({ path: { file_id: file.id }, body })), {
    changes: ['file', 'files'],
  })
  return (
    <>
      <input
        ref={input}
        type="file"
        aria-label="New content"
        className="hidden"
        onChange={(event) => {
          const [chosen] = event.target.files ?? []
          if (chosen) replace.run(chosen)
          event.target.value = ''
        }}
      />
      <Button busy={replace.busy} onClick={() => input.current?.click()}>
        Replace content
      </Button>
      <ErrorNotice error={replace.error} />
    </>
  )
}
