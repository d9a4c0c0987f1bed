import { Link, useNavigate } from '@tanstack/react-router'
import { useState } from 'react'
import { ask, type File as FileRecord, qm } from '../../api.ts'
import { useAll } from '../../queries.ts'
import { useNewProject } from '../../shell/project-field.tsx'
import { Button } from '../../ui/button.tsx'
import { Dialog } from '../../ui/dialog.tsx'
import { Field, TextField } from '../../ui/field.tsx'
import { Form } from '../../ui/form.tsx'
import { changed, Listing } from '../../ui/listing.tsx'
import { Empty } from '../../ui/notice.tsx'
import { type Column, rowLink } from '../../ui/table.tsx'
import { useForm } from '../../use-form.ts'
import { sizeColumn, tagsColumn } from './columns.tsx'

const columns: Column<FileRecord>[] = [
  {
    name: 'Path',
    cell: ({ id, path, content_type }) => (
      <>
        <Link to="/files/$fileId" params={{ fileId: id }} className={`${rowLink} font-mono break-all`}>
          {path}
        </Link>
        <div className="text-xs text-soft">{content_type}</div>
      </>
    ),
  },
  tagsColumn,
  sizeColumn,
  changed as Column<FileRecord>,
]

export function Files() {
  const files = useAll('files', (query) => qm.files.listFiles({ query }))
  const [isOpen, setOpen] = useState(false)
  const add = (
    <Button variant="main" icon="plus" onClick={() => setOpen(true)}>
      Upload a file
    </Button>
  )
  return (
    <>
      <div className="mb-3 flex justify-end">{add}</div>
      <Listing
        query={files}
        label="Files"
        columns={columns}
        empty={
          <Empty title="No files yet">
            Keep images, PDFs and other files here for tools to read. Use documents for text that agents search.
          </Empty>
        }
      />
      {isOpen && <Upload onClose={() => setOpen(false)} />}
    </>
  )
}

function Upload({ onClose }: { onClose: () => void }) {
  const navigate = useNavigate()
  const { inProject, field } = useNewProject()
  const form = useForm({
    start: { path: '', file: undefined as File | undefined },
    async save({ path, file }) {
      if (!file) throw new Error('Choose a file first.')
      const type = file.type === '' ? 'application/octet-stream' : file.type
      const made = await ask(qm.files.createFile({ body: { path: path.trim(), content_type: type, ...inProject } }))
      try {
        return await ask(qm.files.uploadFile({ path: { file_id: made.id }, body: file }))
      } catch (error) {
        // Without content the file is useless, and its path would be taken.
        await qm.files.deleteFile({ path: { file_id: made.id } })
        throw error
      }
    },
    changes: ['files'],
    onDone: ({ id }) => void navigate({ to: '/files/$fileId', params: { fileId: id } }),
  })
  const { draft, set, text } = form
  return (
    <Dialog open onClose={onClose} title="Upload a file">
      <Form form={form} label="Upload" disabled={!draft.file} onCancel={onClose}>
        <Field label="File">
          {(props) => (
            <input
              type="file"
              required
              {...props}
              className="control text-sm"
              onChange={(event) => {
                const [file] = event.target.files ?? []
                const isOwnPath = draft.path !== '' && draft.path !== `/${draft.file?.name}`
                set({ file, ...(file && !isOwnPath && { path: `/${file.name}` }) })
              }}
            />
          )}
        </Field>
        <TextField label="Path" mono required placeholder="/brand/logo.png" {...text('path')} />
        {field}
      </Form>
    </Dialog>
  )
}
