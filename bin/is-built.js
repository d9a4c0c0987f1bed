import { existsSync, readdirSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

const root = fileURLToPath(new URL('..', import.meta.url))
const sources = join(root, 'src')

/** Its time is that of the sources that it was built from. */
export const stamp = join(root, 'dist/built')

/** Whether `dist` is what the sources say. A package has no sources, and always is. */
export function isBuilt() {
  if (!existsSync(sources)) return true
  if (!existsSync(stamp)) return false
  const builtAt = statSync(stamp).mtimeMs
  // What is gone by now, such as an editor's lock, is a change, too.
  const isOlder = (file) => (statSync(file, { throwIfNoEntry: false })?.mtimeMs ?? Number.POSITIVE_INFINITY) <= builtAt
  // What was taken away shows in the time of the folder that held it.
  return (
    [join(root, 'package-lock.json'), sources].every(isOlder) &&
    readdirSync(sources, { recursive: true }).every((file) => isOlder(join(sources, file)))
  )
}
