import type { JsonObject } from '../../lib/json.ts'
import { type Operation, parametersOf, routeOf } from '../../operations/operation.ts'
import { moduleOf } from './openapi.ts'
import { type OperationSchemas, schemasOf } from './schemas.ts'

const escapes: Record<string, string> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;' }
const escaped = (text: string) => text.replaceAll(/[&<>"]/g, (character) => escapes[character] as string)

/** The API reference at /api/docs: one page that loads nothing else. */
export function reference(operations: readonly Operation[], version: string): string {
  const modules = Map.groupBy(operations, moduleOf)
  const schemas = schemasOf(operations)
  const contents = [...modules.keys()].map((name) => `<a href="#${name}">${name}</a>`).join(' ')
  const sections = [...modules].map(
    ([name, members]) =>
      `<section id="${name}"><h2>${name}</h2>${members.map((operation) => one(operation, schemas)).join('')}</section>`,
  )
  const types = Object.entries(schemas.components)
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([name, schema]) => type(name, schema))
  return `<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<title>Quartermaster API</title><style>${style}</style></head><body>
<header><h1>Quartermaster API</h1><p>Version ${escaped(version)} · base <code>/api/v1</code> ·
<a href="/api/v1/openapi.json">OpenAPI 3.1</a> · send <code>Authorization: Bearer sk_…</code></p><nav>${contents} <a href="#types">types</a></nav></header>
<main>${sections.join('')}<section id="types"><h2>Types</h2>${types.join('')}</section></main></body></html>`
}

function one(operation: Operation, schemas: OperationSchemas): string {
  const { method, path } = routeOf(operation)
  return `<details id="${operation.name}"><summary><b class="${method}">${method}</b> <code>${escaped(path)}</code>
<span>${escaped(operation.summary)}</span></summary>
<p>Permission <code>${operation.permission}</code> · command <code>quartermaster ${operation.name}</code></p>
<h3>Example</h3><pre>${escaped(curl(operation))}</pre>
<h3>Input</h3><pre>${print(schemas.input(operation.input))}</pre>
<h3>Response, ${operation.status}</h3><pre>${operation.answers === 'bytes' ? 'The bytes' : print(schemas.output(operation.output))}</pre></details>`
}

/** Browsers open a collapsed `<details>` when a link points into it. */
const type = (name: string, { description = '', ...schema }: JsonObject): string =>
  `<details><summary><code>${name}</code> <span>${escaped(String(description))}</span></summary>
<pre id="type-${name}">${print(schema)}</pre></details>`

function curl(operation: Operation): string {
  const { method, path } = routeOf(operation)
  const filled = parametersOf(path).reduce((url, { name }) => url.replace(`{${name}}`, `$${name.toUpperCase()}`), path)
  const verb = method === 'GET' ? '' : ` -X ${method}`
  const body = JSON.stringify(operation.example ?? {}).replaceAll("'", "'\\''")
  const data =
    method === 'POST' || method === 'PATCH'
      ? ` \\\n  -H 'Content-Type: application/json' -d '${body}'`
      : operation.accepts
        ? ' \\\n  --data-binary @file'
        : ''
  return `curl${verb} "http://127.0.0.1:4600/api/v1${filled}" \\\n  -H "Authorization: Bearer $KEY"${data}`
}

/** A schema as JSON, with links to the types it refers to. */
const print = (schema: JsonObject) =>
  escaped(JSON.stringify(schema, null, 2)).replaceAll(
    /&quot;#\/components\/schemas\/(\w+)&quot;/g,
    '<a href="#type-$1">$1</a>',
  )

const style = `
:root{color-scheme:light dark;--line:color-mix(in srgb,currentColor 18%,transparent)}
body{font:16px/1.5 system-ui,sans-serif;max-width:60rem;margin:0 auto;padding:1rem}
nav a{margin-right:.75rem}h2{margin-top:2.5rem;border-bottom:1px solid var(--line)}h3{margin:.5rem 0;font-size:1rem}
details{border:1px solid var(--line);border-radius:.5rem;margin:.5rem 0;padding:.5rem .75rem}
summary{cursor:pointer}summary span{opacity:.75;margin-left:.5rem}summary b{display:inline-block;min-width:4.5rem}
pre{scroll-margin-top:4rem;overflow-x:auto;padding:.75rem;border:1px solid var(--line);border-radius:.5rem;font-size:.85rem}
code{font-size:.9em;overflow-wrap:anywhere}`
