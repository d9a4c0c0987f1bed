import { useState } from 'react'
import { type ApiDescription, ask, Failure, qm } from '../../../api.ts'
import { plural } from '../../../format.ts'
import { useNewProject } from '../../../shell/project-field.tsx'
import { Button, Row } from '../../../ui/button.tsx'
import { TextArea, TextField } from '../../../ui/field.tsx'
import { HelpLink } from '../../../ui/help-link.tsx'
import { ErrorNotice } from '../../../ui/notice.tsx'
import { PageHead, Panel } from '../../../ui/panel.tsx'
import { useAction } from '../../../use-action.ts'
import { CreateFromApi } from './create.tsx'

/** Makes a tool of an OpenAPI document: read it, choose operations, create. */
export function ImportApi() {
  const { inProject, field } = useNewProject()
  const [source, setSource] = useState({ url: '', text: '' })
  const reading = useAction(async (file: File | undefined) => read(source, file, inProject))
  return (
    <>
      <PageHead title="Import an API" actions={field}>
        Each operation of an OpenAPI document becomes an action. <HelpLink guide="openapi">Guide</HelpLink>
      </PageHead>
      <div className="space-y-4">
        <Panel title="Document">
          <form
            className="space-y-3"
            onSubmit={(event) => {
              event.preventDefault()
              reading.run(undefined)
            }}
          >
            <TextField
              label="URL"
              mono
              placeholder="https://api.example.com/openapi.json"
              value={source.url}
              onChange={({ target }) => setSource({ url: target.value, text: '' })}
            />
            <TextArea
              label="Or paste the document"
              hint="JSON or YAML: OpenAPI 3.1 and 3.0, or Swagger 2.0"
              mono
              rows={source.text === '' ? 2 : 8}
              value={source.text}
              onChange={({ target }) => setSource({ url: '', text: target.value })}
            />
            <ErrorNotice error={reading.error} />
            <Row>
              <Button
                variant="main"
                type="submit"
                busy={reading.busy}
                disabled={source.url === '' && source.text === ''}
              >
                {reading.busy ? 'Reading…' : 'Read document'}
              </Button>
              <ChooseFile onChoose={(file) => reading.run(file)} />
            </Row>
          </form>
        </Panel>
        {reading.data && <CreateFromApi key={reading.data.api.snapshot} {...reading.data} inProject={inProject} />}
        {reading.data && <LeftOut api={reading.data.api} />}
      </div>
    </>
  )
}

const ChooseFile = ({ onChoose }: { onChoose: (file: File) => void }) => (
  <label className="inline-flex cursor-pointer items-center rounded-md border border-edge/60 bg-panel px-2.5 py-1.5 text-sm font-medium focus-within:outline-2 hover:bg-hover">
    Choose a file
    <input
      type="file"
      accept=".json,.yaml,.yml,application/json"
      className="sr-only"
      onChange={({ target }) => {
        const [file] = target.files ?? []
        if (file) onChoose(file)
        target.value = ''
      }}
    />
  </label>
)

interface ReadApi {
  readonly api: ApiDescription
  /** Undefined for a document that was pasted or uploaded. */
  readonly url: string | undefined
}

/** Files are uploaded first, because a JSON request has a limit. */
async function read(
  { url, text }: { url: string; text: string },
  file: File | undefined,
  inProject: { project_id?: string },
): Promise<ReadApi> {
  if (!file) {
    const trimmed = url.trim()
    const body = trimmed === '' ? { document: text } : { url: trimmed }
    const api = await ask(qm.tools.inspectOpenapi({ body: { ...body, ...inProject } }))
    return { api, url: trimmed === '' ? undefined : trimmed }
  }
  const path = `/imports/${Date.now()}-${file.name}`
  const made = await ask(qm.files.createFile({ body: { path, ...inProject } }))
  try {
    await ask(qm.files.uploadFile({ path: { file_id: made.id }, body: file }))
    const api = await ask(qm.tools.inspectOpenapi({ body: { document: made.id, ...inProject } }))
    return { api, url: undefined }
  } finally {
    await ask(qm.files.deleteFile({ path: { file_id: made.id } })).catch((error: unknown) => {
      if (!(error instanceof Failure)) throw error
    })
  }
}

const LeftOut = ({ api: { left_out: left } }: { api: ApiDescription }) =>
  left.length === 0 ? null : (
    <Panel title={`${plural(left.length, 'operation')} left out`}>
      <ul className="list-disc space-y-1 pl-5 text-sm">
        {left.slice(0, 50).map(({ operation, reason }) => (
          <li key={operation} className="break-words">
            <code className="font-mono text-xs">{operation}</code>: {reason}
          </li>
        ))}
      </ul>
    </Panel>
  )
