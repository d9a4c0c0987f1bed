import type { Authenticator } from '../access/authenticator.ts'
import type { CallRequest } from '../dispatch/call.ts'
import type { Json } from '../lib/json.ts'
import type { Turns } from '../lib/turns.ts'
import type { PlatformError } from '../model/errors.ts'
import type { Outcome } from '../model/outcome.ts'
import type { Principal } from '../model/principal.ts'
import type { Output } from '../model/tool.ts'
import type { Store } from '../store/store.ts'
import type { RunCall, RunJournal, StoredRun } from '../store/workflow-runs.ts'
import type { ActionLookup } from '../tools/workflow/actions.ts'

export interface RunDeps {
  readonly store: Store
  readonly actions: ActionLookup
  readonly authenticator: Authenticator
  dispatch(request: CallRequest): Promise<Outcome>
  conclude(request: CallRequest, outcome: Output | PlatformError): Promise<void>
  /** Whether a call that was started may have had its effect: it needed no approval, or its approval was used. */
  mayHaveRun(callId: string): Promise<boolean>
  /** Cancels a run that this one started. */
  cancel(id: string): Promise<unknown>
  /** Expressions take up to 15 ms each, so the event loop turns between them. */
  readonly turns: Turns
  /** Whether to retry the run later after an unexpected error, such as a database outage. */
  mayRetry(run: StoredRun): boolean
}

/**
 * `stop`: this process must let go of the run. Calls in progress are finished. `cancel`: the run was cancelled, so its
 * calls are aborted as well.
 */
export interface Signals {
  readonly stop: AbortSignal
  readonly cancel: AbortSignal
}

/** One attempt to advance a run. */
export interface Advancing {
  readonly run: StoredRun
  /** The caller, with its current permissions. Read before each call. */
  principal(): Promise<Principal>
  readonly signals: Signals
  readonly journal: RunJournal
}

/** What a run waits for; the time at which it has to go on whatever happens, if there is one. */
export interface RunWait {
  readonly until: number | null
}

/** A call with its output, or with what it waits for. */
export type CallProgress =
  | { readonly call: RunCall & { readonly output: Json }; readonly wait?: undefined }
  | { readonly call: RunCall; readonly wait: RunWait }

export class Cancelled extends Error {
  override readonly name = 'Cancelled'
}
