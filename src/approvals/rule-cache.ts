import { setImmediate } from 'node:timers/promises'
import { Cached } from '../db/cached.ts'
import type { ApprovalRule } from '../model/approval-rule.ts'
import type { Store } from '../store/store.ts'
import type { CompiledRule } from './gates.ts'
import { ruleConditionOf } from './rule-condition.ts'

/** Caches the compiled approval rules of each project until one of them changes. */
export class RuleCache {
  readonly #rules: Cached<readonly CompiledRule[]>
  readonly #store: Store

  constructor(store: Store) {
    this.#store = store
    this.#rules = new Cached(store.changes, { removeOn: ['approval_rules'] })
  }

  /** The cached rules. Only missing on the first call after a change. */
  peek(projectId: string): readonly CompiledRule[] | undefined {
    return this.#rules.peek(projectId)
  }

  find(projectId: string): Promise<readonly CompiledRule[]> {
    return this.#rules.find(projectId, () => this.#load(projectId))
  }

  async #load(projectId: string): Promise<readonly CompiledRule[]> {
    const rules: CompiledRule[] = []
    for (const [index, rule] of (await this.#store.approvalRules.enabled(projectId)).entries()) {
      // A long rule takes a millisecond or two to compile, so yield to other requests.
      if (index % 20 === 19) await setImmediate()
      rules.push(ready(rule))
    }
    return rules
  }
}

/** Rules are checked when they are created. If a later version cannot compile one, it requires approval for every call. */
function ready(rule: ApprovalRule): CompiledRule {
  try {
    return { ...rule, applies: ruleConditionOf(rule.expression) }
  } catch (error) {
    const applies = () => {
      throw error
    }
    return { ...rule, applies }
  }
}
