import { execFileSync } from 'node:child_process'
import { fileURLToPath } from 'node:url'

const script = fileURLToPath(new URL('../scripts/build-dashboard.ts', import.meta.url))

/** The dashboard that is tested is the one whose source is here. */
export default function setup(): void {
  execFileSync(process.execPath, [script], { stdio: 'inherit' })
}
