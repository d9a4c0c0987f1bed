import { useQuery } from '@tanstack/react-query'
import { useNavigate, useParams } from '@tanstack/react-router'
import { useState } from 'react'
import { ask, type Document as DocumentRecord, qm } from '../../api.ts'
import { useNewProject } from '../../shell/project-field.tsx'
import { Button } from '../../ui/button.tsx'
import { ConfirmButton } from '../../ui/dialog.tsx'
import { TextArea, TextField } from '../../ui/field.tsx'
import { Form } from '../../ui/form.tsx'
import { Markdown } from '../../ui/markdown.tsx'
import { Answered } from '../../ui/notice.tsx'
import { fromPairs, PairsField, toPairs } from '../../ui/pairs.tsx'
import { PageHead, Panel } from '../../ui/panel.tsx'
import { useAction } from '../../use-action.ts'
import { useForm } from '../../use-form.ts'

export function Document() {
  const { documentId } = useParams({ from: '/documents/$documentId' })
  const isNew = documentId === 'new'
  const document = useQuery({
    queryKey: ['document', documentId],
    queryFn: () => ask(qm.documents.getDocument({ path: { document_id: documentId } })),
    enabled: !isNew,
  })
  if (isNew) return <Editor document={undefined} />
  return <Answered query={document}>{(record) => <Editor key={record.id} document={record} />}</Answered>
}

function Editor({ document }: { document: DocumentRecord | undefined }) {
  const navigate = useNavigate()
  const { inProject, field } = useNewProject()
  const form = useForm({
    start: { path: document?.path ?? '/', content: document?.content ?? '', tags: toPairs(document?.tags) },
    version: document?.updated_at,
    save({ path, content, tags }) {
      const body = { path: path.trim(), content, tags: fromPairs(tags) }
      return ask(
        document
          ? qm.documents.updateDocument({ path: { document_id: document.id }, body })
          : qm.documents.createDocument({ body: { ...body, ...inProject } }),
      )
    },
    changes: ['documents', 'document'],
    onDone: ({ id }) => void navigate({ to: '/documents/$documentId', params: { documentId: id } }),
  })
  const { draft, set, text } = form
  const [isPreview, setPreview] = useState(false)
  const remove = useAction(
    async () => document && ask(qm.documents.deleteDocument({ path: { document_id: document.id } })),
    { changes: ['documents'], onDone: () => void navigate({ to: '/documents' }) },
  )
  const isMarkdown = /\.(md|markdown)$/i.test(draft.path)
  return (
    <>
      <PageHead
        title={document ? <span className="font-mono text-lg break-all">{document.path}</span> : 'New document'}
        actions={
          document && (
            <ConfirmButton
              label="Delete"
              title={`Delete ${document.path}?`}
              confirm="Delete document"
              onConfirm={() => remove.runAsync()}
            >
              This cannot be undone.
            </ConfirmButton>
          )
        }
      />
      <Form form={form} label={document ? 'Save' : 'Create document'}>
        <Panel>
          <div className="grid gap-4 md:grid-cols-2">
            <TextField label="Path" mono required placeholder="/handbook/refunds.md" {...text('path')} />
            {!document && field}
            <PairsField
              label="Tags"
              add="Add a tag"
              hint="Access policies can allow or deny documents by their tags"
              pairs={draft.tags}
              onChange={(tags) => set({ tags })}
            />
          </div>
        </Panel>
        {isMarkdown && (
          <Button variant="quiet" aria-pressed={isPreview} onClick={() => setPreview(!isPreview)}>
            {isPreview ? 'Edit' : 'Preview'}
          </Button>
        )}
        {isMarkdown && isPreview ? (
          <Panel title="Preview">
            <Markdown text={draft.content} />
          </Panel>
        ) : (
          <TextArea label="Text" mono rows={20} {...text('content')} />
        )}
      </Form>
    </>
  )
}
