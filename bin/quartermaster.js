#!/usr/bin/env -S MALLOC_ARENA_MAX=1 MALLOC_MMAP_THRESHOLD_=262144 node --no-memory-reducer --max-semi-space-size=16 --disable-warning=ExperimentalWarning
// The GNU C library keeps what is freed apart for each thread, and Node has a dozen: hence the first variable. The second has it
// give large blocks back to the system when they are freed, also after many of them. V8 frees memory in a
// quiet moment and takes with it what it knew about the code that will run next: hence the first flag. The second keeps the
// room for new things from growing to four times what calls need; see docs/decisions/2026-11-16-memory.md. The third is for
// Node 22, which calls its SQLite experimental.
import module from 'node:module'
import { setFlagsFromString } from 'node:v8'
import { isBuilt } from './is-built.js'

const [major, minor] = process.versions.node.split('.').map(Number)
if (major < 22 || (major === 22 && minor < 18)) {
  console.error(`quartermaster needs Node 22.18 or later; this is ${process.version}.`)
  console.error('In a checkout, run "npx quartermaster" instead: it uses the Node 24 that "npm ci" installed.')
  process.exit(1)
}
// V8 takes what outlives a few calls for something that stays, makes the like of it among what is old from then on, and
// has to keep whatever that refers to: with calls that come and go, nearly everything.
setFlagsFromString('--no-allocation-site-pretenuring')
// What was compiled once is kept, which takes most of the time off a start.
module.enableCompileCache?.()
// In a checkout whose sources have changed since, the sources run as they are.
await import(isBuilt() ? '../dist/cli.js' : '../src/cli/main.ts')
