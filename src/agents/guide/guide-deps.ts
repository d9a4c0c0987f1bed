import type { Schemas } from '../../json-schema/schema.ts'
import type { Store } from '../../store/store.ts'
import type { Models } from '../models/model.ts'

export interface GuideDeps {
  readonly store: Store
  readonly schemas: Schemas
  readonly models: Models
}
