import { Link } from '@tanstack/react-router'
import { type ReactNode, useState } from 'react'
import { ask, type Body, Failure, qm } from '../../api.ts'
import { useNewProject } from '../../shell/project-field.tsx'
import { Button, Row } from '../../ui/button.tsx'
import { Dialog } from '../../ui/dialog.tsx'
import { TextArea } from '../../ui/field.tsx'
import { ErrorNotice } from '../../ui/notice.tsx'
import { useAction } from '../../use-action.ts'

const example = `{
  "mcpServers": {
    "docs": { "url": "https://docs.example.com/mcp" }
  }
}`

/** Accepts the file with or without the mcpServers key. */
function read(text: string): Body<'tools', 'importMcpServers'>['mcpServers'] {
  try {
    const value = JSON.parse(text)
    return value?.mcpServers ?? value?.servers ?? value
  } catch (error) {
    throw new Failure({ code: 'INVALID_JSON', message: `Invalid JSON: ${(error as Error).message}`, details: {} })
  }
}

export function ImportDialog({ open, onClose }: { open: boolean; onClose: () => void }) {
  const { inProject, field } = useNewProject()
  const [text, setText] = useState('')
  const action = useAction(
    async () => ask(qm.tools.importMcpServers({ body: { mcpServers: read(text), ...inProject } })),
    { changes: ['tools'] },
  )
  const close = () => {
    action.reset()
    setText('')
    onClose()
  }
  return (
    <Dialog
      open={open}
      onClose={close}
      wide
      title="Import MCP servers"
      description="Paste the mcpServers file of your editor or desktop assistant. Each server becomes a tool."
    >
      {action.data ? (
        <div className="space-y-3 text-sm">
          <p role="status">
            {action.data.created.length === 0
              ? 'Nothing was imported.'
              : `Imported: ${action.data.created.map(({ name }) => name).join(', ')}.`}
          </p>
          {action.data.skipped.length > 0 && (
            <ul className="list-disc pl-5">
              {action.data.skipped.map(({ name, reason }) => (
                <li key={name}>
                  <code className="font-mono">{name}</code>: {reason}
                </li>
              ))}
            </ul>
          )}
          {action.data.not_taken_over.length > 0 && (
            <List title="Not imported">
              {action.data.not_taken_over.map(({ name, field, instead }) => (
                <li key={`${name} ${field}`}>
                  <code className="font-mono">{field}</code> of {name}: {instead}
                </li>
              ))}
            </List>
          )}
          {action.data.to_fill_in.length > 0 && (
            <List title="Complete these values in the settings of the tool">
              {action.data.to_fill_in.map(({ name, field, placeholder }) => (
                <li key={`${name} ${field} ${placeholder}`}>
                  <code className="font-mono">{placeholder}</code> in {field} of {name}
                </li>
              ))}
            </List>
          )}
          <Row className="justify-end">
            <Link to="/tools" onClick={close} className="text-accent hover:underline">
              View tools
            </Link>
          </Row>
        </div>
      ) : (
        <form
          className="space-y-3"
          onSubmit={(event) => {
            event.preventDefault()
            action.run()
          }}
        >
          <TextArea
            label="mcpServers (JSON)"
            mono
            rows={12}
            placeholder={example}
            value={text}
            onChange={(event) => setText(event.target.value)}
          />
          {field}
          <ErrorNotice error={action.error} />
          <Row className="justify-end">
            <Button onClick={close}>Cancel</Button>
            <Button variant="main" type="submit" busy={action.busy} disabled={text.trim() === ''}>
              Import
            </Button>
          </Row>
        </form>
      )}
    </Dialog>
  )
}

const List = ({ title, children }: { title: string; children: ReactNode }) => (
  <section>
    <h3 className="font-medium">{title}</h3>
    <ul className="list-disc break-words pl-5">{children}</ul>
  </section>
)
