import { z } from 'zod'
import { type App, listApps } from '../credentials/apps.ts'
import { Paging, pageOf } from '../model/page.ts'
import { operation } from './operation.ts'

export const AppPreset = z.object({
  app: z.string().describe('The app of tools and auth configs that use it'),
  name: z.string(),
  scopes: z.array(z.string()).describe('Requested if the auth config has no scopes'),
  needs_subdomain: z.boolean().describe('Whether its auth configs need `subdomain`, your part of the host name'),
  client_registration_url: z.string().nullable().describe('Where you register a client, if known'),
  curated: z.boolean().describe('Whether it is maintained here. Others come from a public list and may be outdated'),
})

export const listAppPresets = operation({
  name: 'list-app-presets',
  permission: 'auth-configs:ListAuthConfigs',
  route: 'GET /app-presets',
  summary: 'List well-known apps, whose auth configs need only a client id and secret. Every key can call this',
  input: z.strictObject({ ...Paging }),
  output: pageOf(AppPreset),
  async run({ limit, offset }) {
    const all = listApps()
    return { data: all.slice(offset, offset + limit).map(view), total: all.length, limit, offset }
  },
})

const view = ({ slug, name, scopes, placeholders, console: url, curated }: App): z.infer<typeof AppPreset> => ({
  app: slug,
  name,
  scopes: [...scopes],
  needs_subdomain: placeholders.includes('subdomain'),
  client_registration_url: url ?? null,
  curated,
})
