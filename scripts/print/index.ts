import { operations as listed, permissions as named } from '../../src/operations/index.ts'
import { manifestSchema } from '../../src/operations/manifests.ts'
import { moduleOf, openapi } from '../../src/surfaces/rest/openapi.ts'
import { printCommands } from './commands.ts'
import {
  printConfig,
  printErrors,
  printMetrics,
  printOperations,
  printPermissions,
  printTypesReference,
} from './docs.ts'
import { printSdk, printTypes, type Spec } from './sdk.ts'

// Sorted by name within a module, because the order of a module's exports depends on the loader.
const operations = [...Map.groupBy(listed, moduleOf).values()].flatMap((members) =>
  members.sort((a, b) => (a.name < b.name ? -1 : 1)),
)
const permissions = new Set([...operations.map(({ permission }) => permission), ...[...named].sort()])
const spec = openapi(operations, named, '') as unknown as Spec

/** Every generated file and its content. */
export const generated: ReadonlyMap<string, () => string> = new Map([
  ['src/sdk/types.ts', () => printTypes(spec)],
  ['src/sdk/operations.ts', () => printSdk(spec)],
  ['src/cli/generated.ts', () => printCommands(operations)],
  ['docs/reference/errors.md', () => printErrors()],
  ['docs/reference/operations.md', () => printOperations(operations, spec)],
  ['docs/reference/types.md', () => printTypesReference(spec)],
  ['docs/reference/permissions.md', () => printPermissions(permissions, operations)],
  ['docs/reference/config.md', () => printConfig()],
  ['docs/reference/metrics.md', () => printMetrics()],
  ['docs/reference/manifest.schema.json', () => `${JSON.stringify(manifestSchema(), null, 2)}\n`],
])
