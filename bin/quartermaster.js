#!/usr/bin/env -S node --no-memory-reducer
// The flag above: V8 frees memory in a quiet moment and takes with it what it knew about the code that will run next.
import module from 'node:module'

const [major, minor] = process.versions.node.split('.').map(Number)
if (major < 22 || (major === 22 && minor < 18)) {
  console.error(`quartermaster needs Node 22.18 or later; this is ${process.version}. In a checkout, use "npm start".`)
  process.exit(1)
}
// What was compiled once is kept, which takes most of the time off a start.
module.enableCompileCache?.()
await import('../src/cli/main.ts')
