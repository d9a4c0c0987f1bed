import { Link } from '@tanstack/react-router'
import { useState } from 'react'
import type { Server } from '../../api.ts'
import { count } from '../../format.ts'
import { CopyButton } from '../../ui/button.tsx'
import { CodeBox } from '../../ui/code.tsx'
import { TextField } from '../../ui/field.tsx'
import { ErrorNotice } from '../../ui/notice.tsx'
import { Facts, Panel } from '../../ui/panel.tsx'
import { Tabs } from '../../ui/tabs.tsx'
import { useFootprint } from './use-server.ts'

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
      about: 'Add this to claude_desktop_config.json (Settings, Developer, Edit Config), then restart Claude Desktop.',
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
      about: 'Add this to ~/.cursor/mcp.json, or to .cursor/mcp.json in a project.',
      text: json({ mcpServers: { [slug]: { url, headers } } }),
    },
    {
      id: 'vscode',
      label: 'VS Code',
      about: 'Add this to .vscode/mcp.json in a project.',
      text: json({ servers: { [slug]: { type: 'http', url, headers } } }),
    },
    {
      id: 'json',
      label: 'Any client',
      about: 'The format that most clients accept, for Streamable HTTP.',
      text: json({ mcpServers: { [slug]: { type: 'streamable-http', url, headers } } }),
    },
    {
      id: 'curl',
      label: 'curl',
      about: 'Lists the tools without a client.',
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
    <div className="grid items-start gap-4 lg:grid-cols-[minmax(0,2fr)_minmax(16rem,1fr)]">
      {!server.enabled && (
        <p className="rounded-md border border-warn/40 bg-warn-wash px-3 py-2 text-sm lg:col-span-2">
          This server is disabled. Clients cannot connect until you enable it in Settings.
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
                Only fills in the snippets below. Use a separate key with the policy “caller” for each client. Create
                one under{' '}
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
      <AtAGlance server={server} />
    </div>
  )
}

function AtAGlance({ server }: { server: Server }) {
  const footprint = useFootprint(server)
  const cost = footprint.data?.[footprint.data.mode]
  return (
    <Panel title="Summary">
      <Facts
        facts={[
          ['Tools', cost ? count(cost.tools) : '…'],
          ['Cost', cost ? `${count(cost.tokens)} tokens per conversation` : '…'],
          ['Mode', server.agent_mode ? 'agent mode: search and run actions' : 'direct mode: one tool per action'],
          ['Apps', server.apps === null ? 'all' : server.apps.map(({ slug }) => slug).join(', ')],
          [
            'Skills',
            server.retrieve_skill ? (server.skill_ids === null ? 'all' : count(server.skill_ids.length)) : 'none',
          ],
          ...(server.description ? [['Description', server.description] as const] : []),
        ]}
      />
      <ErrorNotice error={footprint.error} />
    </Panel>
  )
}
