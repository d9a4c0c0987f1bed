import type { RequestOptions, TestPlatform } from './kit.ts'

/** As a browser sends it from a page of the dashboard. */
export const ownPage = { 'sec-fetch-site': 'same-origin' }
export const password = 'correct horse battery staple'

const dashboard = '/api/v1/dashboard'

/** A session as the browser has it: pass it as the options of a request. */
export interface PersonSession extends RequestOptions {
  readonly key: null
  readonly headers: Record<string, string>
}

export async function sessionFrom(platform: TestPlatform, path: string, body: unknown, headers = ownPage) {
  const answer = await platform.post(`${dashboard}/${path}`, body, { key: null, headers })
  const cookie = answer.headers.get('set-cookie')?.split(';')[0] ?? ''
  const session: PersonSession = {
    key: null,
    headers: { ...ownPage, cookie, 'x-quartermaster-csrf': answer.body.csrf_token },
  }
  return { answer, session }
}

export const signInAs = (platform: TestPlatform, email: string, given = password) =>
  sessionFrom(platform, 'session', { email, password: given })

export const tokenOf = (invited: { readonly invitation_url: string }): string =>
  invited.invitation_url.split('#')[1] as string

export const accept = (platform: TestPlatform, token: string, given: string = password) =>
  sessionFrom(platform, 'invitation/accept', { token, password: given })

/** Invites a person who accepts, and returns them signed in. */
export async function person(platform: TestPlatform, email: string, fields: object, options: RequestOptions = {}) {
  const invited = await platform.post('/users', { email, ...fields }, options)
  if (invited.status !== 201) throw new Error(JSON.stringify(invited.body))
  const { session, answer } = await accept(platform, tokenOf(invited.body))
  if (answer.status !== 201) throw new Error(JSON.stringify(answer.body))
  return { id: invited.body.id as string, session }
}
