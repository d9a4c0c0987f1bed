import { setImmediate } from 'node:timers/promises'
import type { ApprovalRule } from '../model/approval-rule.ts'
import type { Store } from '../store/store.ts'
import type { ReadyRule } from './gates.ts'
import { ruleConditionOf } from './rule-condition.ts'

/** The approval rules of each project, held in memory until one of them changes. */
export class Rules {
  readonly #known = new Map<string, readonly ReadyRule[]>()
  readonly #store: Store
  #changes = 0

  constructor(store: Store) {
    this.#store = store
    store.notices.hear('approval_rules', (projectIds) => {
      this.#changes++
      if (projectIds.length === 0) this.#known.clear()
      for (const id of projectIds) this.#known.delete(id)
    })
  }

  /** At once where they are known, which is always but for the first call after a change. */
  of(projectId: string): readonly ReadyRule[] | Promise<readonly ReadyRule[]> {
    return this.#known.get(projectId) ?? this.#read(projectId)
  }

  async #read(projectId: string): Promise<readonly ReadyRule[]> {
    const changesBefore = this.#changes
    const rules: ReadyRule[] = []
    for (const [index, rule] of (await this.#store.approvalRules.enabled(projectId)).entries()) {
      // A long rule takes a millisecond or two to read, and others want to be served meanwhile.
      if (index % 20 === 19) await setImmediate()
      rules.push(ready(rule))
    }
    if (changesBefore === this.#changes) this.#known.set(projectId, rules)
    return rules
  }
}

/** It was checked when it was made; one that a later version does not read any more asks for everything. */
function ready(rule: ApprovalRule): ReadyRule {
  try {
    return { ...rule, applies: ruleConditionOf(rule.expression) }
  } catch (error) {
    const applies = () => {
      throw error
    }
    return { ...rule, applies }
  }
}
