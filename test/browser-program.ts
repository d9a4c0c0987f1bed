import { execFileSync } from 'node:child_process'
import { existsSync, mkdirSync, mkdtempSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

/** A browser for tests, and the environment variables it needs in addition. */
export interface BrowserProgram {
  readonly executablePath: string
  readonly env: Readonly<Record<string, string>>
}

const installed = [
  '/usr/bin/chromium',
  '/usr/bin/chromium-browser',
  '/usr/bin/google-chrome',
  '/Applications/Google Chrome.app/Contents/MacOS/Google Chrome',
  '/Applications/Chromium.app/Contents/MacOS/Chromium',
  'C:/Program Files/Google/Chrome/Application/chrome.exe',
]

const root = fileURLToPath(new URL('..', import.meta.url))
const { devDependencies } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'))
const cache = join(root, 'node_modules/.cache')
const bundledFolder = join(cache, `chromium-${devDependencies['@sparticuz/chromium']}`)

/** The browser named by QM_BROWSER, else an installed one, else the one from npm if `unpackBrowser` could unpack it. */
export function findBrowser(): BrowserProgram | undefined {
  const executablePath = process.env.QM_BROWSER || installed.find((path) => existsSync(path))
  if (executablePath) return { executablePath, env: {} }
  return existsSync(bundledFolder) ? bundled(bundledFolder) : undefined
}

const bundled = (folder: string): BrowserProgram => ({
  executablePath: join(folder, 'chromium'),
  env: { LD_LIBRARY_PATH: join(folder, 'al2023/lib'), FONTCONFIG_FILE: join(folder, 'fonts.conf') },
})

/**
 * Unpacks the Chromium of `@sparticuz/chromium`, which is built for Linux on x64, with the libraries and fonts that a
 * bare machine lacks. Throws if it does not run. The package unpacks into the system's temporary folder and treats a
 * partly written file as complete, so it gets its own folder, which is renamed when it is complete.
 */
export function unpackBrowser(): void {
  if (existsSync(bundledFolder)) return
  mkdirSync(cache, { recursive: true })
  const folder = mkdtempSync(join(cache, 'chromium-'))
  try {
    const script = "import chromium from '@sparticuz/chromium'; await chromium.executablePath()"
    // The package unpacks its libraries only if it detects AWS Lambda.
    const env = { ...process.env, TMPDIR: folder, AWS_EXECUTION_ENV: 'AWS_Lambda_nodejs24.x' }
    execFileSync(process.execPath, ['--input-type=module', '-e', script], { cwd: root, env, stdio: 'pipe' })
    writeFileSync(join(folder, 'fonts.conf'), fontSettings(bundledFolder))
    const { executablePath, env: needed } = bundled(folder)
    execFileSync(executablePath, ['--version'], { env: { ...process.env, ...needed }, stdio: 'pipe' })
    if (!existsSync(bundledFolder)) renameSync(folder, bundledFolder)
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

const fontSettings = (folder: string) => `<?xml version="1.0"?>
<!DOCTYPE fontconfig SYSTEM "fonts.dtd">
<fontconfig>
  <dir>${folder}/fonts/fonts</dir>
  <dir>/usr/share/fonts</dir>
  <cachedir>${folder}/fonts-cache</cachedir>
</fontconfig>
`
