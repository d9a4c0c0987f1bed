import { text } from 'node:stream/consumers'
import { exit, type Runner } from '../toolkit/command.ts'
import { got, openSession } from '../toolkit/connection.ts'
import { io, say } from '../toolkit/io.ts'
import { isSet, readArguments, textOf } from '../toolkit/parse.ts'

/** A filter: the text of an assistant on standard input, the message for the model on standard output. */
export const run: Runner = async (invocation) => {
  const read = readArguments(invocation, 0)
  const { qm } = await openSession(read.given)
  const servers = textOf(read, 'servers')?.split(',')
  if (isSet(read.given, 'prompt')) {
    const query = servers ? { servers: servers.join(',') } : {}
    say(got(await qm.servers.getXmlPrompt({ query })).prompt)
    return exit.ok
  }
  const body = {
    text: await text(io().stdin),
    ...(servers && { servers }),
    ...(isSet(read.given, 'run-fenced') && { fenced: 'run' as const }),
  }
  const answer = got(await qm.servers.executeXml({ body }))
  say(isSet(read.given, 'json') ? JSON.stringify(answer) : answer.text)
  return answer.results.some(({ status }) => status === 'error' || status === 'denied') ? exit.refused : exit.ok
}
