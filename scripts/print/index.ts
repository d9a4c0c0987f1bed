import { operations as listed, permissions as named } from '../../src/operations/index.ts'
import { moduleOf } from '../../src/surfaces/rest/openapi.ts'
import { printCommands } from './commands.ts'
import { printConfig, printErrors, printMetrics, printOperations, printPermissions } from './docs.ts'
import { printSdk } from './sdk.ts'

// Within a module the order is the alphabet's, because the order of a module's exports is not the same for every loader.
const operations = [...Map.groupBy(listed, moduleOf).values()].flatMap((members) =>
  members.sort((a, b) => (a.name < b.name ? -1 : 1)),
)
const permissions = new Set([...operations.map(({ permission }) => permission), ...[...named].sort()])

/** Every generated file, and what it should hold. */
export const generated: ReadonlyMap<string, () => string> = new Map([
  ['src/sdk/operations.ts', () => printSdk(operations)],
  ['src/cli/generated.ts', () => printCommands(operations)],
  ['docs/reference/errors.md', () => printErrors()],
  ['docs/reference/operations.md', () => printOperations(operations)],
  ['docs/reference/permissions.md', () => printPermissions(permissions, operations)],
  ['docs/reference/config.md', () => printConfig()],
  ['docs/reference/metrics.md', () => printMetrics()],
])
