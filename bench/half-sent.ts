/**
 * Measures the memory that incomplete request bodies take: 800 connections without a valid API key, each of which sends 350 KB
 * of a body of 4 MB. Prints the resident memory before and while they are open.
 *
 *     node bench/half-sent.ts
 *     PROGRAM=<checkout>/bin/quartermaster.js node bench/half-sent.ts
 */
import { readFileSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { connect, type Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { end, launch, program } from './measure.ts'

const connections = 800
const sent = Buffer.alloc(Number(process.env.SENT ?? 350_000), 0x20)
const command = process.env.PROGRAM ? [...program.slice(0, -1), process.env.PROGRAM] : program

const folder = await mkdtemp(join(tmpdir(), 'quartermaster-bench-'))
const platform = await launch([...command, 'up', '--port', '0', '--data', folder], {
  QM_ADMIN_KEY: 'sk_of_the_benchmark',
  QM_LOG_LEVEL: 'error',
  QM_EMBEDDINGS: 'off',
})
const { port } = new URL(platform.url)
const rss = () =>
  Math.round(Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${platform.child.pid}/status`, 'utf8'))?.[1] ?? 0) / 1024)

const sockets: Socket[] = []
try {
  const before = rss()
  for (const path of ['/api/v1/tools/tool_none/call', '/mcp/none']) {
    const head = [
      `POST ${path} HTTP/1.1`,
      `Host: 127.0.0.1:${port}`,
      'Authorization: Bearer sk_wrong',
      'Content-Type: application/json',
      'Accept: application/json, text/event-stream',
      'Content-Length: 4000000',
    ]
    for (let count = 0; count < connections / 2; count++) {
      const socket = connect(Number(port), '127.0.0.1')
      socket.on('error', () => {})
      socket.write(`${head.join('\r\n')}\r\n\r\n`)
      socket.write(sent)
      sockets.push(socket)
    }
  }
  let peak = 0
  for (let count = 0; count < 40; count++) {
    await sleep(100)
    peak = Math.max(peak, rss())
  }
  await sleep(6000)
  console.log(
    `${connections} incomplete bodies: RSS ${before} MB before, at most ${peak} MB, ${rss()} MB after ten seconds`,
  )
} finally {
  for (const socket of sockets) socket.destroy()
  await end(platform.child)
  await rm(folder, { recursive: true, force: true })
}
