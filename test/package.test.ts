import { execFile, spawn } from 'node:child_process'
import { existsSync, globSync, readFileSync } from 'node:fs'
import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, beforeAll, expect, test } from 'vitest'

const run = promisify(execFile)
const root = new URL('..', import.meta.url).pathname
/** The oldest supported version of Node. Its binary is a package. */
const oldest = '22.18.0'

let folder: string
let node: string
const key = 'sk_of_the_package_test'

/** The published tarball, installed in an empty folder outside of the checkout. */
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'quartermaster-package-'))
  const binary = `node-${process.platform === 'win32' ? 'win' : process.platform}-${process.arch}`
  const { stdout } = await run('npm', ['pack', '--json', '--pack-destination', folder], {
    cwd: root,
    maxBuffer: 16_000_000,
  })
  const [{ filename }] = JSON.parse(stdout.slice(stdout.indexOf('[\n')))
  await writeFile(join(folder, 'package.json'), '{"name":"empty","private":true}')
  // The runtime of the embedded model downloads a part on installation. Without it, search uses keywords only.
  const options = ['--prefer-offline', '--no-audit', '--no-fund', '--omit=optional', '--ignore-scripts']
  await run('npm', ['install', ...options, `./${filename}`, `${binary}@${oldest}`], {
    cwd: folder,
    maxBuffer: 16_000_000,
  })
  node = join(folder, 'node_modules', binary, 'bin/node')
}, 300_000)

afterAll(() => rm(folder, { recursive: true, force: true }))

/** The program that `npx quartermaster` runs. */
const program = () => join(folder, 'node_modules/.bin/quartermaster')

test.concurrent(`the package starts on Node ${oldest}, with its dashboard, CLI and SDK`, {
  timeout: 60_000,
}, async () => {
  const environment = { PATH: process.env.PATH, QM_ADMIN_KEY: key, QM_KEY: key }
  const child = spawn(node, [program(), 'up', '--port', '0', '--data', join(folder, 'data')], { env: environment })
  const ended = new Promise((resolve) => child.once('close', resolve))
  try {
    let output = ''
    const url = await new Promise<string>((resolve, reject) => {
      const read = (chunk: Buffer) => {
        output += chunk
        const [, ready] = /ready at (http:\S+)/.exec(output) ?? []
        if (ready) resolve(ready)
      }
      child.stdout.on('data', read)
      child.stderr.on('data', read)
      void ended.then(() => reject(new Error(`it ended: ${output}`)))
    })
    expect(await (await fetch(`${url}/health`)).json()).toEqual({ status: 'ok' })
    const page = await (await fetch(url)).text()
    const [, script = ''] = /<script[^>]*src="([^"]+)"/.exec(page) ?? []
    expect((await fetch(new URL(script, url))).headers.get('content-type')).toContain('javascript')

    const options = { env: { ...environment, QM_URL: url }, cwd: folder }
    const made = await run(node, [program(), 'create-document', '--path', '/a.md', '--content', 'Hello'], options)
    expect(JSON.parse(made.stdout)).toMatchObject({ path: '/a.md' })
    const code = `
      import { Quartermaster } from 'quartermaster/sdk'
      const qm = new Quartermaster({ baseUrl: ${JSON.stringify(url)}, token: ${JSON.stringify(key)} })
      console.log((await qm.documents.listDocuments()).data.data[0].path)`
    const listed = await run(node, ['--input-type=module', '-e', code], options)
    expect(listed.stdout.trim()).toBe('/a.md')
  } finally {
    child.kill('SIGTERM')
    await ended
  }
})

test.concurrent('the package can be embedded in another program', { timeout: 60_000 }, async () => {
  const code = `
    import { createPlatform } from 'quartermaster'
    import { readConfig } from 'quartermaster/config'
    const platform = await createPlatform(readConfig({ data: 'embedded' }, { QM_LOG_LEVEL: 'error', QM_EMBEDDINGS: 'off' }))
    console.log((await platform.fetch('http://localhost/health')).status)
    await platform.close()`
  const { stdout } = await run(node, ['--input-type=module', '-e', code], { cwd: folder })
  expect(stdout.trim()).toBe('200')
})

test.concurrent('the package has examples that run where you copy them', { timeout: 60_000 }, async () => {
  const example = await readFile(join(folder, 'node_modules/quartermaster/examples/embedded/main.ts'), 'utf8')
  await writeFile(join(folder, 'example.mts'), example)
  const { stdout } = await run(node, ['example.mts'], { cwd: folder })
  expect(stdout.trim()).toBe('["/hours.md"]\nBom dia, Ana!')
})

test.concurrent('the package has types for all its entry points', { timeout: 60_000 }, async () => {
  await writeFile(
    join(folder, 'use.mts'),
    `import { createPlatform } from 'quartermaster'
     import { readConfig } from 'quartermaster/config'
     import { type NewTool, Quartermaster, type Tool } from 'quartermaster/sdk'
     const platform = await createPlatform(readConfig({}, {}))
     const answer: Response = await platform.fetch('http://localhost/health')
     // @ts-expect-error
     platform.log.shout()
     const { data } = await new Quartermaster({ baseUrl: '', token: '' }).tools.listTools()
     // @ts-expect-error
     const wrong: number = data?.data[0]?.name
     const tool: Tool | undefined = data?.data[0]
     // @ts-expect-error
     const unnamed: NewTool = { description: 'A tool without a name' }
     console.log(answer, wrong, tool?.execute?.method, unnamed)`,
  )
  const types = ['--types', 'node', '--typeRoots', join(root, 'node_modules/@types')]
  const options = ['--noEmit', '--strict', '--skipLibCheck', '--module', 'nodenext', '--target', 'esnext', ...types]
  const checked = await run(process.execPath, [join(root, 'node_modules/typescript/bin/tsc'), ...options, 'use.mts'], {
    cwd: folder,
  }).catch((error: { stdout: string }) => error)
  expect(checked.stdout).toBe('')
})

test.concurrent('doctor says how to install the runtime of the search model if it is missing', async () => {
  const { optionalDependencies } = JSON.parse(await readFile(join(root, 'package.json'), 'utf8'))
  const advice = `npm install --ignore-scripts onnxruntime-node@${optionalDependencies['onnxruntime-node']}`
  const environment = { PATH: process.env.PATH, QM_DATA: join(folder, 'doctor'), HOME: folder }

  const { stdout } = await run(node, [program(), 'doctor', '--json'], { env: environment }).catch(
    (error: { stdout: string }) => error,
  )

  const search = JSON.parse(stdout).findings.find(({ check }: { check: string }) => check === 'search')
  expect(search).toMatchObject({ state: 'wrong', advice: expect.stringContaining(advice) })
  expect(search.what).not.toMatch(/stack|\n/i)
})

test('the package has documentation without broken links', async () => {
  const installed = join(folder, 'node_modules/quartermaster')
  const pages = globSync('{*.md,docs/**/*.md,examples/**/*.md}', { cwd: installed })
  const links = pages.flatMap((page) =>
    [...readFileSync(join(installed, page), 'utf8').matchAll(/\]\(([^)#\s]+)[^)]*\)|\s(?:src|href)="([^"#]+)/g)]
      .map(([, markdown, html]) => markdown ?? html ?? '')
      .filter((link) => !/^\w+:/.test(link))
      .map((link) => ({ page, link, path: join(installed, dirname(page), link) })),
  )

  expect(pages.length).toBeGreaterThan(20)
  expect(links.length).toBeGreaterThan(20)
  expect(links.filter(({ path }) => !existsSync(path))).toEqual([])
})

test('the package contains no sources, no tests and no development dependencies', async () => {
  const installed = join(folder, 'node_modules/quartermaster')
  expect((await readdir(installed)).sort()).toEqual(
    [
      ...['ARCHITECTURE.md', 'CHANGELOG.md', 'CONTRIBUTING.md', 'LICENSE', 'README.md', 'package.json'],
      ...['bin', 'dashboard', 'dist', 'docs', 'examples'],
    ].sort(),
  )
  const model = await readdir(join(installed, 'dist/all-MiniLM-L6-v2'))
  expect(model.sort()).toEqual(['LICENSE', 'onnx', 'tokenizer.json'])
  const { dependencies, devDependencies } = JSON.parse(await readFile(join(root, 'package.json'), 'utf8'))
  const others = await readdir(join(folder, 'node_modules'))
  for (const name of Object.keys(devDependencies)) {
    if (!(name in dependencies) && !name.startsWith('@types/')) expect(others).not.toContain(name)
  }
})
