import type { ReplyHeaders } from '../../server/exchange.ts'

/** Escapes text for HTML. Everything on these pages that is not ours goes through it. */
const text = (value: string): string =>
  value
    .replaceAll(/[&<>"']/g, (character) => `&#${character.charCodeAt(0)};`)
    .replaceAll(/[\u202a-\u202e\u2066-\u2069]/g, '')

/**
 * Chrome applies `form-action` to every redirect after a form is sent, and sign-in pages often redirect to other hosts.
 * So https is allowed, and over http only the authorization server itself.
 */
export const pageHeaders = (formTargets: readonly string[] = []): ReplyHeaders => ({
  'content-type': 'text/html; charset=utf-8',
  'content-security-policy': [
    "default-src 'none'",
    "style-src 'unsafe-inline'",
    "base-uri 'none'",
    `form-action 'self' ${formTargets.join(' ')}`.trim(),
    "frame-ancestors 'none'",
  ].join('; '),
  'x-content-type-options': 'nosniff',
  'x-frame-options': 'DENY',
  'referrer-policy': 'no-referrer',
  'cache-control': 'no-store',
  'cross-origin-opener-policy': 'same-origin',
})

const style = `:root{color-scheme:light dark}body{font:16px/1.5 system-ui,sans-serif;margin:0;display:grid;place-items:center;min-height:100vh}
main{max-width:26rem;padding:2rem;width:calc(100% - 4rem)}h1{font-size:1.4rem;margin:0 0 1rem}label{display:block;margin:1rem 0 .25rem}
input{font:inherit;width:100%;box-sizing:border-box;padding:.5rem;border:1px solid #8888;border-radius:.4rem}
button,.button{font:inherit;display:inline-block;margin-top:1.5rem;padding:.6rem 1.2rem;border:0;border-radius:.4rem;background:#2454d6;color:#fff;cursor:pointer;text-decoration:none}
dt{font-size:.85rem;opacity:.7}dd{margin:0 0 .6rem;overflow-wrap:anywhere}`

const whole = (title: string, body: string): string =>
  `<!doctype html><html lang="en"><meta charset="utf-8"><meta name="viewport" content="width=device-width"><title>${text(title)}</title><style>${style}</style><main><h1>${text(title)}</h1>${body}</main></html>`

export interface ConnectField {
  readonly name: 'value' | 'username' | 'password'
  readonly label: string
  readonly isSecret: boolean
}

export interface ConnectPage {
  readonly app: string
  readonly title: string
  readonly action: string
  readonly csrf: string
  /** Facts that the person agrees to. */
  readonly facts: readonly (readonly [name: string, value: string])[]
  readonly fields: readonly ConnectField[]
  readonly button: string
}

export function connectPage({ title, action, csrf, facts, fields, button }: ConnectPage): string {
  const list = facts.map(([name, value]) => `<dt>${text(name)}</dt><dd>${text(value)}</dd>`).join('')
  const inputs = fields.map(
    ({ name, label, isSecret }) =>
      `<label for="${name}">${text(label)}</label><input id="${name}" name="${name}" type="${isSecret ? 'password' : 'text'}" autocomplete="off" required maxlength="65536">`,
  )
  return whole(
    title,
    `<dl>${list}</dl><form method="post" action="${text(action)}"><input type="hidden" name="csrf" value="${text(csrf)}">${inputs.join('')}<button>${text(button)}</button></form>`,
  )
}

export const donePage = (app: string, account: string | null): string =>
  whole(
    `${app} is connected`,
    `<p>${account === null ? '' : `Connected as ${text(account)}. `}You can close this page and continue where you were.</p>`,
  )

export const signInPage = (message: string): string =>
  whole(
    'Sign in to continue',
    `<p>${text(message)}</p><p><a class="button" href="/" target="_blank" rel="noopener">Sign in</a></p><p>Then reload this page.</p>`,
  )

export const errorPage = (message: string): string => whole('This did not work', `<p>${text(message)}</p>`)
