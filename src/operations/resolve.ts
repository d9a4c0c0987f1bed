import { z } from 'zod'
import { evaluate } from '../access/evaluate.ts'
import { toolResource } from '../dispatch/authorize.ts'
import { modeFilter } from '../dispatch/mode.ts'
import { Id } from '../model/page.ts'
import type { Principal } from '../model/principal.ts'
import type { Server } from '../model/server.ts'
import { featureNames } from '../search/features.ts'
import type { ActionMatch, ActionMatches } from '../search/resolver.ts'
import { acts, type OperationDeps } from './operation.ts'
import { server } from './servers.ts'

/** The input of RESOLVE_ACTIONS and of its benchmark: a few requests of a sentence or two. */
export const Requests = z.array(z.string().max(4000)).min(1).max(100)

export const Candidate = z.object({
  slug: z.string(),
  type: z.enum(['action', 'workflow']),
  identifier: z.string(),
  score: z.number().describe('Between 0 and 1; RESOLVE_ACTIONS ignores scores below 0.5'),
  features: z.record(z.enum(featureNames), z.number()).describe('The features behind the score'),
})

export const resolveActions = acts({
  name: 'resolve-actions',
  permission: 'servers:ResolveActions',
  route: 'POST /servers/{server_id}/resolve',
  summary: 'Rank the actions of a server for a request in natural language, as RESOLVE_ACTIONS does',
  example: { integration_query: ['List contacts Salesforce', 'Send a message Slack'] },
  on: server,
  input: z.strictObject({
    id: Id,
    integration_query: Requests.describe('One entry per action: a short description and the app'),
    limit: z.number().int().min(1).max(50).default(10).meta({ default: 10 }),
  }),
  output: z.object({
    results: z.array(
      z.object({
        query: z.string(),
        missing_app: z.string().optional().describe('The app that the request names, if no action here belongs to it'),
        candidates: z.array(Candidate),
      }),
    ),
  }),
  async run({ integration_query: requests, limit }, { target, ...context }) {
    const answers = await findActions(requests, limit, target, context)
    return {
      results: requests.map((query, at) => {
        const { matches = [], missingApp } = answers[at] ?? {}
        return {
          query,
          ...(missingApp !== undefined && { missing_app: missingApp.slice(0, 200) }),
          candidates: matches.map(toCandidate),
        }
      }),
    }
  },
})

/** Ranks the actions of a server that the caller can use, for each request. */
export async function findActions(
  requests: readonly string[],
  most: number,
  target: Server,
  {
    principal,
    serverCatalogues,
    resolver,
    store,
  }: Pick<OperationDeps, 'serverCatalogues' | 'resolver' | 'store'> & { readonly principal: Principal },
): Promise<readonly ActionMatches[]> {
  const caller = {
    serverId: target.id,
    catalogue: await serverCatalogues.recent(target),
    principal,
    may: ({ tool }: ActionMatch['action']) => evaluate(principal, 'tools:CallTool', toolResource(tool)).allowed,
  }
  const inMode = await modeFilter(principal, target, store.modes)
  if (!inMode) return resolver.find(requests, caller, most)
  // Not part of `may`, whose results are kept for the principal: modes change without it.
  const found = await resolver.find(requests, caller, most * 4)
  const allowed = (matches: readonly ActionMatch[]) =>
    matches.filter(({ action }) => inMode(action.action)).slice(0, most)
  return found.map((answer) => ({ ...answer, matches: allowed(answer.matches) }))
}

const toCandidate = ({ action: { action, kind }, score, features }: ActionMatch) => ({
  slug: action.app,
  type: kind,
  identifier: action.name,
  score: rounded(score),
  features: Object.fromEntries(featureNames.map((name) => [name, rounded(features[name])])) as typeof features,
})

const rounded = (value: number) => Math.round(value * 10_000) / 10_000
