import { execFileSync } from 'node:child_process'
import { fileURLToPath } from 'node:url'

/** The dashboard and the program that are tested are those whose sources are here. */
export default function setup(): void {
  for (const script of ['build-dashboard', 'build-program']) {
    const file = fileURLToPath(new URL(`../scripts/${script}.ts`, import.meta.url))
    execFileSync(process.execPath, [file], { stdio: 'inherit' })
  }
}
