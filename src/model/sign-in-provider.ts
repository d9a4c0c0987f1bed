import { z } from 'zod'
import { Id, Text, Timestamp } from './page.ts'
import { Role } from './user.ts'

/** Plain http is only safe where nobody else can listen. */
const isIssuer = (text: string): boolean => {
  const url = URL.parse(text)
  if (url?.username !== '' || url.password !== '' || url.search !== '' || url.hash !== '') return false
  return url.protocol === 'https:' || (url.protocol === 'http:' && loopback.test(url.hostname))
}
const loopback = /^(localhost|127(\.\d+){3}|\[::1\])$/

const Domain = z
  .string()
  .trim()
  .toLowerCase()
  .max(253)
  .regex(/^[a-z0-9-]+(\.[a-z0-9-]+)+$/, 'must be a domain such as "example.com"')

export const SignInProviderFields = {
  name: Text.trim().min(1).max(100).describe('Shown on the button of the sign-in page'),
  issuer: z
    .string()
    .max(1000)
    .refine(isIssuer, 'must be an https URL without query; http is only allowed on this machine')
    .describe('The issuer URL of the OpenID Connect provider'),
  client_id: Text.trim().min(1).max(500),
  client_secret: Text.min(1)
    .max(2000)
    .nullable()
    .describe('Null for public clients. It is encrypted and never returned'),
  allowed_domains: z.array(Domain).max(100).describe('The domains of email addresses that may sign in; empty for all'),
  default_role: Role.nullable().describe(
    'The role of people who sign in for the first time; null if only invited people may sign in',
  ),
  default_project_id: Id.nullable().describe('The only project that these people can access; null for all projects'),
  enabled: z.boolean(),
}

const { client_secret: _, ...shown } = SignInProviderFields

/** A company account that people sign in with, over OpenID Connect. */
export const SignInProvider = z.object({
  id: z.string(),
  ...shown,
  has_client_secret: z.boolean(),
  created_at: Timestamp,
  updated_at: Timestamp,
})
export type SignInProvider = z.infer<typeof SignInProvider>

export const SignInProviderView = SignInProvider.extend({
  redirect_uri: z
    .string()
    .nullable()
    .describe('Register this URL with the provider; null if the public URL is unknown'),
})
