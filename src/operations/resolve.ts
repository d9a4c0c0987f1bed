import { z } from 'zod'
import { evaluate } from '../access/evaluate.ts'
import { toolResource } from '../dispatch/authorize.ts'
import { Id } from '../model/page.ts'
import type { Principal } from '../model/principal.ts'
import type { Server } from '../model/server.ts'
import { featureNames } from '../search/features.ts'
import type { Found } from '../search/resolver.ts'
import { acts, type Parts } from './operation.ts'
import { server } from './servers.ts'

/** What RESOLVE_ACTIONS and its measuring take: a few requests, each a sentence or two. */
export const Requests = z.array(z.string().max(4000)).min(1).max(100)

const Candidate = z.object({
  slug: z.string(),
  type: z.enum(['action', 'workflow']),
  identifier: z.string(),
  score: z.number().describe('Between 0 and 1; below one half, RESOLVE_ACTIONS does not take it for a match'),
  features: z.record(z.enum(featureNames), z.number()).describe('What spoke for and against it'),
})

export const resolveActions = acts({
  name: 'resolve-actions',
  permission: 'servers:ResolveActions',
  route: 'POST /servers/{server_id}/resolve',
  summary: 'Rank the actions of a server for requests in words, as RESOLVE_ACTIONS does',
  example: { integration_query: ['List contacts Salesforce', 'Send a message Slack'] },
  on: server,
  input: z.strictObject({
    id: Id,
    integration_query: Requests.describe('One entry for each action: a short description and the app'),
    limit: z.number().int().min(1).max(50).default(10).meta({ default: 10 }),
  }),
  output: z.object({ results: z.array(z.object({ query: z.string(), candidates: z.array(Candidate) })) }),
  async run({ integration_query: requests, limit }, { target, ...context }) {
    const answers = await findActions(requests, limit, target, context)
    return {
      results: requests.map((query, at) => ({ query, candidates: (answers[at] ?? []).map(toCandidate) })),
    }
  },
})

/** What a caller may use of a server, ranked for each request. */
export async function findActions(
  requests: readonly string[],
  most: number,
  target: Server,
  { principal, shelves, resolver }: Pick<Parts, 'shelves' | 'resolver'> & { readonly principal: Principal },
): Promise<readonly (readonly Found[])[]> {
  const asker = {
    serverId: target.id,
    shelf: await shelves.of(target),
    principal,
    may: ({ tool }: Found['shelved']) => evaluate(principal, 'tools:CallTool', toolResource(tool)).allowed,
  }
  return resolver.find(requests, asker, most)
}

const toCandidate = ({ shelved: { action, kind }, score, features }: Found) => ({
  slug: action.app,
  type: kind,
  identifier: action.name,
  score: rounded(score),
  features: Object.fromEntries(featureNames.map((name) => [name, rounded(features[name])])) as typeof features,
})

const rounded = (value: number) => Math.round(value * 10_000) / 10_000
