import { Link } from '@tanstack/react-router'
import { useState } from 'react'
import type { Server } from '../../api.ts'
import { CopyButton } from '../../ui/button.tsx'
import { CodeBox } from '../../ui/code.tsx'
import { TextField } from '../../ui/field.tsx'
import { Panel } from '../../ui/panel.tsx'
import { Tabs } from '../../ui/tabs.tsx'

interface Snippet {
  readonly id: string
  readonly label: string
  readonly about: string
  readonly text: string
}

const json = (value: unknown) => JSON.stringify(value, null, 2)

function snippetsOf({ slug, url: path }: Server, key: string): Snippet[] {
  const url = window.location.origin + path
  const headers = { Authorization: `Bearer ${key}` }
  return [
    {
      id: 'claude-code',
      label: 'Claude Code',
      about: 'Run this in a terminal.',
      text: `claude mcp add --transport http ${slug} ${url} \\\n  --header "Authorization: Bearer ${key}"`,
    },
    {
      id: 'claude-desktop',
      label: 'Claude Desktop',
      about: 'Into claude_desktop_config.json (Settings, Developer, Edit Config), then start it anew.',
      text: json({
        mcpServers: {
          [slug]: {
            command: 'npx',
            args: [
              ...['-y', 'mcp-remote', url, '--header', 'Authorization:${AUTH}'],
              ...(url.startsWith('http:') ? ['--allow-http'] : []),
            ],
            env: { AUTH: `Bearer ${key}` },
          },
        },
      }),
    },
    {
      id: 'cursor',
      label: 'Cursor',
      about: 'Into ~/.cursor/mcp.json, or .cursor/mcp.json of a project.',
      text: json({ mcpServers: { [slug]: { url, headers } } }),
    },
    {
      id: 'vscode',
      label: 'VS Code',
      about: 'Into .vscode/mcp.json of a project.',
      text: json({ servers: { [slug]: { type: 'http', url, headers } } }),
    },
    {
      id: 'json',
      label: 'Any client',
      about: 'The form that most clients read, as Streamable HTTP.',
      text: json({ mcpServers: { [slug]: { type: 'streamable-http', url, headers } } }),
    },
    {
      id: 'curl',
      label: 'curl',
      about: 'Lists the tools, without any client.',
      text: [
        `curl -s ${url} \\`,
        `  -H 'Authorization: Bearer ${key}' \\`,
        `  -H 'Content-Type: application/json' \\`,
        `  -H 'Accept: application/json, text/event-stream' \\`,
        `  -d '{"jsonrpc":"2.0","id":1,"method":"tools/list"}'`,
      ].join('\n'),
    },
  ]
}

export function Connect({ server }: { server: Server }) {
  const [key, setKey] = useState('')
  const [client, setClient] = useState('claude-code')
  const snippets = snippetsOf(server, key.trim() || 'sk_YOUR_KEY')
  return (
    <div className="max-w-3xl space-y-4">
      {!server.enabled && (
        <p className="rounded-md border border-warn/40 bg-warn-wash px-3 py-2 text-sm">
          This server is switched off: clients find nothing at its address until it is switched on in its settings.
        </p>
      )}
      <Panel title="Connect a client">
        <div className="space-y-4">
          <TextField
            label="API key for the client"
            mono
            placeholder="sk_YOUR_KEY"
            value={key}
            onChange={(event) => setKey(event.target.value)}
            hint={
              <>
                Fills in the lines below and goes nowhere else. Give each client a key of its own, with the policy
                “caller”: make one under{' '}
                <Link to="/access" className="text-accent underline">
                  Access
                </Link>
                .
              </>
            }
          />
          <Tabs
            label="Client"
            value={client}
            onChange={setClient}
            tabs={snippets.map(({ id, label, about, text }) => ({
              id,
              label,
              content: () => (
                <div className="space-y-2">
                  <p className="text-sm text-soft">{about}</p>
                  <CodeBox>{text}</CodeBox>
                  <CopyButton text={text} />
                </div>
              ),
            }))}
          />
        </div>
      </Panel>
    </div>
  )
}
