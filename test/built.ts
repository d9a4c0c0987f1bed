import { execFileSync } from 'node:child_process'
import { fileURLToPath } from 'node:url'

/** Builds the dashboard and the program, so that tests run the current sources. */
export default function setup(): void {
  for (const script of ['build-dashboard', 'build-program']) {
    const file = fileURLToPath(new URL(`../scripts/${script}.ts`, import.meta.url))
    execFileSync(process.execPath, [file], { stdio: 'inherit' })
  }
}
