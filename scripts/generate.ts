/** Writes all files that are generated from the source. `test/generated.test.ts` fails if they are out of date. */
import { mkdir, writeFile } from 'node:fs/promises'
import { dirname } from 'node:path'
import { fileURLToPath } from 'node:url'
import { generated } from './print/index.ts'

for (const [path, print] of generated) {
  const file = fileURLToPath(new URL(`../${path}`, import.meta.url))
  await mkdir(dirname(file), { recursive: true })
  await writeFile(file, print())
  console.log(path)
}
