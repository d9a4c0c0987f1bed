import { hash } from 'node:crypto'
import { html } from '../../lib/html.ts'
import { styles } from './styles.ts'

export const stylesPath = `/oauth/${hash('sha256', styles).slice(0, 12)}.css`

/**
 * These pages run no script, load nothing from elsewhere and cannot be framed. Chrome also applies `form-action` to the
 * redirect that follows a form, so the page of a consent names the place that its answer goes to.
 */
export const pageHeaders = (formTargets: readonly string[] = []): Record<string, string> => ({
  'content-type': 'text/html; charset=utf-8',
  'content-security-policy': [
    "default-src 'none'",
    "style-src 'self'",
    "img-src 'self'",
    "font-src 'self'",
    "base-uri 'none'",
    `form-action 'self'${formTargets.map((target) => ` ${target}`).join('')}`,
    "frame-ancestors 'none'",
  ].join('; '),
  'x-content-type-options': 'nosniff',
  'x-frame-options': 'DENY',
  'referrer-policy': 'same-origin',
  'cross-origin-opener-policy': 'same-origin',
  'cache-control': 'no-store',
})

const layout = (title: string, base: string, body: string): string => `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="robots" content="noindex">
<title>${html(title)} · Quartermaster</title>
<link rel="icon" href="${html(base)}/icon.svg">
<link rel="stylesheet" href="${html(base)}${stylesPath}">
</head>
<body>
<main>
<header><img src="${html(base)}/icon.svg" alt="" width="36" height="36"><div><p class="brand">Quartermaster</p>
<p class="soft">The tool platform for AI agents</p></div></header>
${body}
</main>
</body>
</html>
`

export interface Form {
  /** The path of the interaction. */
  readonly action: string
  readonly csrf: string
  /** The public path of the platform; empty in most installations. */
  readonly base: string
}

const hidden = (name: string, value: string) => `<input type="hidden" name="${html(name)}" value="${html(value)}">`

const open = ({ action, csrf }: Form) =>
  `<form method="post" action="${html(action)}" autocomplete="on">${hidden('csrf', csrf)}`

const notice = (kind: 'bad' | 'warn', text: string | undefined) =>
  text === undefined ? '' : `<p class="notice ${kind}"${kind === 'bad' ? ' role="alert"' : ''}>${html(text)}</p>`

export interface SignInField {
  readonly name: string
  readonly label: string
  readonly type: 'text' | 'email' | 'password'
  readonly autocomplete: string
  readonly placeholder?: string
  readonly hint?: string
}

/** One way to sign in, as a form. */
export interface SignInForm {
  readonly id: string
  readonly fields: readonly SignInField[]
}

const field = ({ name, label, type, autocomplete, placeholder = '', hint }: SignInField, isFirst: boolean) => `
<label for="${html(name)}">${html(label)}</label>
<input class="control" id="${html(name)}" name="${html(name)}" type="${type}" autocomplete="${html(autocomplete)}"
 placeholder="${html(placeholder)}" required${isFirst ? ' autofocus' : ''}${hint ? ` aria-describedby="${html(name)}-hint"` : ''}>
${hint ? `<p class="hint" id="${html(name)}-hint">${html(hint)}</p>` : ''}`

export interface SignInWays {
  readonly methods: readonly SignInForm[]
  /** Company accounts, with the URL that leads there. */
  readonly providers: readonly { readonly name: string; readonly url: string }[]
}

export const signInPage = (
  form: Form,
  client: string,
  { methods, providers }: SignInWays,
  fault: string | undefined,
): string =>
  layout(
    'Sign in',
    form.base,
    `<h1>Sign in to connect ${html(client)}</h1>
${notice('bad', fault)}
${providers.map(({ name, url }) => `<a class="button plain" href="${html(url)}">Continue with ${html(name)}</a>`).join('\n')}
${methods
  .map(
    ({ id, fields }, index) => `${open(form)}${hidden('method', id)}<div class="panel">
${fields.map((one, place) => field(one, index === 0 && place === 0)).join('')}
<button class="main" name="do" value="sign-in">Sign in</button></div></form>`,
  )
  .join('<p class="or soft">or</p>')}
${open(form)}<button class="quiet" name="do" value="deny" formnovalidate>Cancel</button></form>`,
  )

/** Goes on by itself. A redirect would not do: it would still count as coming from another site. */
export const continuePage = (base: string, url: string): string =>
  layout(
    'Signing in',
    base,
    `<meta http-equiv="refresh" content="0; url=${html(url)}">
<p>You are signed in. <a href="${html(url)}">Continue</a></p>`,
  )

export interface ConsentView {
  readonly client: { readonly name: string; readonly host: string | undefined }
  /** Where the answer goes, as a person reads it. */
  readonly redirect: { readonly text: string; readonly isLoopback: boolean }
  readonly server: { readonly name: string; readonly url: string }
  readonly scopes: readonly string[]
  readonly account: string
}

const scopeTexts: Readonly<Record<string, string>> = {
  mcp: 'See the tools of this server and call them, with your permissions',
  'mcp:read': 'See the tools of this server, without calling them',
  openid: 'Know the id of your account',
}

const row = (name: string, value: string, more = '') =>
  `<div><dt>${html(name)}</dt><dd>${html(value)}${more && `<span class="soft">${html(more)}</span>`}</dd></div>`

export const consentPage = (form: Form, { client, redirect, server, scopes, account }: ConsentView): string =>
  layout(
    'Allow access',
    form.base,
    `<h1>Allow ${html(client.name)} to use ${html(server.name)}?</h1>
${open(form)}<div class="panel">
<dl>
${row('App', client.name, client.host === undefined ? 'registered itself, so its name is not verified' : `published by ${client.host}`)}
${row('Server', server.name, server.url)}
${row('Returns to', redirect.text)}
${row('Signed in as', account)}
</dl>
<p class="lead">It will be able to:</p>
<ul>${scopes.map((scope) => `<li>${html(scopeTexts[scope] ?? scope)}</li>`).join('')}</ul>
${notice('warn', redirect.isLoopback ? 'Continue only if you have just started this in an app on this computer. Any program on it can claim to be this app.' : undefined)}
<button class="main" name="do" value="allow">Allow</button>
<button class="plain" name="do" value="deny">Cancel</button></div></form>
${open(form)}<button class="quiet" name="do" value="switch">Sign in as somebody else</button></form>
<p class="soft small">You can revoke this access at any time on the dashboard.</p>`,
  )

/** The person may not use the server, or it does not exist: we do not say which. */
export const noServerPage = (form: Form, server: string, account: string): string =>
  layout(
    'No access',
    form.base,
    `<h1>You cannot use this server</h1>
<div class="panel"><p>${html(account)} has no access to an MCP server named “${html(server)}”, or it does not accept apps that
sign in with OAuth. Ask an administrator, or sign in as somebody else.</p>
${open(form)}<button class="main" name="do" value="switch">Sign in as somebody else</button>
<button class="plain" name="do" value="deny">Cancel</button></form></div>`,
  )

const explanations: Readonly<Record<string, string>> = {
  invalid_client: 'The app is not known here, or its metadata document could not be read.',
  invalid_redirect_uri: 'The app wants to continue at an address that it has not registered.',
  invalid_target: 'The app asked for access to something that is not an MCP server of this platform.',
  session_not_found: 'This sign-in has expired, was already completed, or was started in another browser.',
}

export const errorPage = (code: string, description: string, base: string): string =>
  layout(
    'Error',
    base,
    `<h1>This did not work</h1>
<div class="panel"><p>${html(explanations[code] ?? 'The request of the app is not valid.')}</p>
<p>Go back to the app and try to connect again.</p>
<p class="soft small">${html(code)}${description && `: ${html(description)}`}</p></div>`,
  )
