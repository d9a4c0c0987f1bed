import type { Authenticator } from '../access/authenticator.ts'
import type { ApprovalCoordinator } from '../approvals/coordinator.ts'
import type { Catalogue } from '../catalogue/catalogue.ts'
import type { Calls } from '../store/calls.ts'
import type { Modes } from '../store/modes.ts'
import type { ToolDeps } from '../tools/tool-type.ts'
import type { CallMetric } from './record.ts'

export interface DispatchDeps {
  readonly catalogue: Catalogue
  readonly calls: Calls
  readonly tools: ToolDeps
  readonly coordinator: ApprovalCoordinator
  readonly modes: Pick<Modes, 'named'>
  /** Reads the current permissions of a principal. */
  readonly authenticator?: Pick<Authenticator, 'principal'>
  /** Called when a call ends, for metrics. */
  onEnd?(call: CallMetric): void
}
