/**
 * Counts how often a call gets the response to another call, when two projects use one server that sends unsolicited
 * responses.
 *
 *     node bench/isolation.ts [rounds]
 */
import { ways } from '../test/hostile-upstream.ts'
import { tallyCalls } from '../test/isolation.ts'

const rounds = Number(process.argv[2] ?? 200)
const share = (part: number, whole: number) => `${((100 * part) / whole).toFixed(1)} %`.padStart(9)

console.log('type  server behavior          calls      own    same project    other project     none   failed')
for (const kind of ['http', 'mcp'] as const) {
  for (const way of ways) {
    const { calls, own, ofSameProject, ofOtherProject, ofNobody, failed } = await tallyCalls(kind, way, rounds)
    const columns = [own, ofSameProject, ofOtherProject, ofNobody, failed].map((part) => share(part, calls))
    console.log(`${kind.padEnd(6)}${way.padEnd(22)}${String(calls).padStart(9)}${columns.join('     ')}`)
  }
}
