#!/usr/bin/env -S MALLOC_ARENA_MAX=1 MALLOC_MMAP_THRESHOLD_=262144 node --no-memory-reducer --max-semi-space-size=16 --disable-warning=ExperimentalWarning
// MALLOC_ARENA_MAX=1: glibc keeps freed memory per thread, and Node has about a dozen threads.
// MALLOC_MMAP_THRESHOLD_: returns large blocks to the system when they are freed. A fixed threshold does not grow with use.
// --no-memory-reducer: when idle, V8 would free memory and discard feedback about code that will run next.
// --max-semi-space-size: limits the young generation to a quarter of its default; see docs/decisions/2026-11-16-memory.md.
// --disable-warning: Node 22 reports its SQLite as experimental.
import module from 'node:module'
import { setFlagsFromString } from 'node:v8'
import { isBuilt } from './is-built.js'

const [major, minor] = process.versions.node.split('.').map(Number)
if (major < 22 || (major === 22 && minor < 18)) {
  console.error(`quartermaster needs Node 22.18 or later; this is ${process.version}.`)
  console.error('In a checkout, run "npx quartermaster" instead: it uses the Node 24 that "npm ci" installed.')
  process.exit(1)
}
// V8 would allocate objects that often survive directly in the old generation. Once dead, they keep everything that they
// refer to alive until a full collection, which is nearly the whole call.
setFlagsFromString('--no-allocation-site-pretenuring')
// Caches compiled code, which saves most of the start-up time.
module.enableCompileCache?.()
// In a checkout whose sources are newer than the build, runs the sources directly.
await import(isBuilt() ? '../dist/cli.js' : '../src/cli/main.ts')
