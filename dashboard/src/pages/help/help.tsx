import { useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { guideNames, loadGuide, titleOf } from '../../guides.ts'
import { Answered } from '../../ui/notice.tsx'
import { PageHead, Panel } from '../../ui/panel.tsx'

/** Guides for newcomers first. All others follow by name. */
const order = [
  'first-tool',
  'mcp',
  'approvals',
  'agents',
  'finding-actions',
  'command-line',
  'sdk',
  'webhooks',
  'secrets',
]
const placeOf = (name: string) => (order.includes(name) ? order.indexOf(name) : order.length)

const useGuides = () =>
  useQuery({
    queryKey: ['guides'],
    staleTime: Number.POSITIVE_INFINITY,
    queryFn: async () => {
      const guides = await Promise.all(
        guideNames.map(async (name) => ({ name, title: titleOf((await loadGuide(name)) ?? '') || name })),
      )
      return guides.sort((a, b) => placeOf(a.name) - placeOf(b.name) || a.name.localeCompare(b.name))
    },
  })

const glossary = [
  [
    'Tool',
    'A record that offers one or more actions: an HTTP endpoint, an MCP server, a function of your own application.',
  ],
  ['Action', 'One thing that can be called. MCP calls this a tool.'],
  ['App', 'The namespace that actions are grouped under.'],
  ['Server', 'An MCP endpoint of this platform that clients connect to. It offers some or all actions.'],
  ['Call', 'One use of an action. Every call is logged, including denied ones.'],
] as const

export function Help() {
  const guides = useGuides()
  return (
    <div className="max-w-3xl">
      <PageHead title="Help">Guides for common tasks, and references.</PageHead>
      <div className="space-y-4">
        <Panel title="Guides">
          <Answered query={guides}>
            {(all) => (
              <ul className="space-y-1">
                {all.map(({ name, title }) => (
                  <li key={name}>
                    <Link to="/help/$guide" params={{ guide: name }} className="text-accent hover:underline">
                      {title}
                    </Link>
                  </li>
                ))}
              </ul>
            )}
          </Answered>
        </Panel>
        <Panel title="References">
          <ul className="space-y-1">
            <li>
              <a href="/api/docs" className="text-accent hover:underline">
                REST API reference
              </a>
            </li>
            <li>
              <a href="/api/v1/openapi.json" className="text-accent hover:underline">
                OpenAPI document
              </a>
            </li>
          </ul>
        </Panel>
        <Panel title="Glossary">
          <dl className="space-y-2 text-sm">
            {glossary.map(([word, meaning]) => (
              <div key={word}>
                <dt className="font-medium">{word}</dt>
                <dd className="text-soft">{meaning}</dd>
              </div>
            ))}
          </dl>
        </Panel>
      </div>
    </div>
  )
}
