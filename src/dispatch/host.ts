import type { Desk } from '../approvals/desk.ts'
import type { Catalogue } from '../catalogue/catalogue.ts'
import type { Principal } from '../model/principal.ts'
import type { Calls } from '../store/calls.ts'
import type { Reach } from '../tools/tool-type.ts'
import type { Ended } from './record.ts'

/** What the door needs of the rest. */
export interface Host {
  readonly catalogue: Catalogue
  readonly calls: Calls
  readonly reach: Reach
  /** Where calls wait for people. */
  readonly desk: Desk
  /** Who is behind an id now; undefined for one that may do nothing any more. */
  findPrincipal?(id: string): Promise<Principal | undefined>
  /** Told how each call ended, for the metrics. */
  onEnd?(call: Ended): void
}
