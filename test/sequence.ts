import { relative } from 'node:path'
import { BaseSequencer, type TestSpecification } from 'vitest/node'

/**
 * The slowest files, slowest first. If one of them ran last, all other workers would wait for it. Vitest knows
 * the durations of the previous run, but a fresh checkout has none.
 */
const longest = [
  'test/guides.test.ts',
  'test/dashboard-approvals.test.ts',
  'test/sessions-kill.test.ts',
  'test/dashboard.test.ts',
  'test/dashboard-content.test.ts',
  'test/conformance.test.ts',
  'test/connections-refresh.test.ts',
  'test/dashboard-agents.test.ts',
  'test/generations-kill.test.ts',
  'test/workflows-kill.test.ts',
  'test/dashboard-tool-types.test.ts',
  'test/dashboard-connections.test.ts',
  'test/code-kill.test.ts',
  'test/workflows-takeover.test.ts',
  'test/oauth-browser.test.ts',
  'test/oauth-conformance.test.ts',
  'test/store.test.ts',
  'test/life.test.ts',
  'test/generations-edge.test.ts',
  'test/jobs.test.ts',
  'test/people-sign-in.test.ts',
  'test/generations-shared.test.ts',
  'test/dashboard-people.test.ts',
  'test/pass-through.test.ts',
  'test/robust.test.ts',
  'test/examples.test.ts',
  'test/approval-races.test.ts',
  'test/webhooks.test.ts',
  'test/kill.test.ts',
  'test/openapi-tools.test.ts',
]

export class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const rank = ({ moduleId }: TestSpecification) => {
      const place = longest.indexOf(relative(this.ctx.config.root, moduleId).replaceAll('\\', '/'))
      return place < 0 ? longest.length : place
    }
    return (await super.sort(files)).sort((a, b) => rank(a) - rank(b))
  }
}
