import { existsSync, readdirSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

const root = fileURLToPath(new URL('..', import.meta.url))
const sources = join(root, 'src')

/** Its modification time is the start of the build. */
export const stamp = join(root, 'dist/built')

/** Whether `dist` is up to date. A package has no sources, so it always is. */
export function isBuilt() {
  if (!existsSync(sources)) return true
  if (!existsSync(stamp)) return false
  const builtAt = statSync(stamp).mtimeMs
  // A file that disappears meanwhile, such as an editor's lock file, counts as a change.
  const isOlder = (file) => (statSync(file, { throwIfNoEntry: false })?.mtimeMs ?? Number.POSITIVE_INFINITY) <= builtAt
  // Deleting a file updates the modification time of its folder.
  return (
    [join(root, 'package-lock.json'), sources].every(isOlder) &&
    readdirSync(sources, { recursive: true }).every((file) => isOlder(join(sources, file)))
  )
}
