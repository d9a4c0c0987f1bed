import { createGuideHooks } from '../agents/guide/guide-hooks.ts'
import { modelOf } from '../agents/model-of.ts'
import { Runner } from '../agents/runner.ts'
import { EventPublisher, keepPublishing } from '../agents/sessions/event-publisher.ts'
import { RoutineRuns } from '../agents/sessions/routine-runs.ts'
import { SessionRunner } from '../agents/sessions/session-runner.ts'
import { createTurnHooks } from '../agents/sessions/turn-hooks.ts'
import type { ServerCatalogues } from '../catalogue/server-catalogue.ts'
import { publishRun, publishSession } from '../webhooks/events.ts'
import { advanceCode } from '../workflows/code.ts'
import { WorkflowRunner } from '../workflows/runner.ts'
import type { Base } from './base.ts'
import type { Calls } from './calls.ts'
import type { Identity } from './identity.ts'

export type Runs = ReturnType<typeof createRuns>

/** What runs for longer than a request: agents, sessions, routines and workflows. */
export function createRuns(base: Base, { authenticator }: Identity, calls: Calls, serverCatalogues: ServerCatalogues) {
  const { config, log, store, jobs, outbound, models, schemas, metrics, webhooks } = base
  const { catalogue, toolDeps, dispatch, conclude } = calls
  const mayHaveRun = (callId: string) => calls.coordinator.mayHaveRun(callId)
  const guide = createGuideHooks({ store, schemas, models })
  const runner = new Runner({
    ...{ store, jobs, catalogue, authenticator, log, dispatch, conclude, mayHaveRun },
    turns: createTurnHooks(store, guide),
    outputMs: config.outputSeconds * 1000,
    openLink: (link, callId) => toolDeps.credentials.openLink(link, callId),
    modelOf: (run) => modelOf(run, store, models),
    onStart: () => metrics.generationStarted(),
    onEnd: (run) => metrics.generationEnded(run),
    onRest: async (run, result) => {
      await sessionRunner.onRest(run, result)
      await publishRun(run, result, webhooks)
      await workflows.wakeCaller(run.parent_call_id)
    },
  })
  const workflows = new WorkflowRunner({
    ...{ store, jobs, authenticator, log, dispatch, conclude, mayHaveRun, actions: toolDeps.actions },
    advanceCode: advanceCode({
      findServer: (id) => serverCatalogues.findServer(id),
      offers: async (server, action) => {
        const found = await serverCatalogues.findServer(server.id)
        const all = found ? (await serverCatalogues.of(found)).all : []
        return all.some((one) => one.action.id === action || `${one.action.app}:${one.action.name}` === action)
      },
    }),
    resumeGeneration: async (id) => {
      const run = await store.generations.find(id)
      if (run) await runner.resume(run)
    },
  })
  const sessionRunner = new SessionRunner({
    ...{ store, runner, log },
    stateAfter: (run, session) => guide.stateAfter(run, session),
    onTurnEnd: (run, session) => routineRuns.onTurnEnd(run, session),
  })
  const eventPublisher = new EventPublisher({
    ...{ store, jobs, log },
    publish: (session, events) => publishSession(session, events, webhooks),
  })
  const routineRuns = new RoutineRuns({
    ...{ store, jobs, outbound, runner, sessionRunner },
    secretOf: (projectId, name) => toolDeps.credentials.valueOf(projectId, name),
  })
  metrics.watchGenerations(() => runner.running)
  return {
    ...{ runner, sessionRunner, routineRuns, workflows },
    /** Publishes events that a crash left behind. */
    sweep: () => keepPublishing(eventPublisher, log),
    async start() {
      await runner.work()
      await routineRuns.work()
      await eventPublisher.work()
      void sessionRunner.sweep()
      await workflows.work()
    },
    /** Starts nothing new. What was started is continued by another process, or after the next start. */
    close() {
      runner.close()
      sessionRunner.close()
      workflows.close()
    },
  }
}
