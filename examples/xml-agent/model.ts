import type { Message } from './loop.ts'

const use = (server: string, tool: string, input: object) => `<use_mcp_tool>
<server_name>${server}</server_name>
<tool_name>${tool}</tool_name>
<arguments>
${JSON.stringify(input)}
</arguments>
</use_mcp_tool>`

/** What the model writes if the last message contains a text. The first match counts. */
const script: readonly (readonly [on: string, answer: string])[] = [
  ['arrived broken', `I will look at the order.\n${use('shop', 'get_order', { number: 1042 })}`],
  ['"path":"number"', `The number must be text.\n${use('shop', 'get_order', { number: '1042' })}`],
  ['"status":"delivered"', `It was delivered. I will pay the money out.\n${use('bank', 'pay_out', { amount: 25 })}`],
  ['MODE_RESTRICTED', `I am not allowed to pay out. A refund will do.\n${use('bank', 'refund', { order: '1042' })}`],
  [
    '"refunded":"1042"',
    `Now I tell the customer.\n${use('mail', 'send', { to: 'ana@example.com', text: 'Refunded.' })}`,
  ],
  ['"sent":true', 'Order 1042 is refunded, and Ana has a message about it.'],
]

/** A model that plays the script, so that the example needs neither a key nor a network. */
export async function scriptedModel(conversation: readonly Message[]): Promise<string> {
  const last = conversation.at(-1)?.text ?? ''
  const [, answer] = script.find(([on]) => last.includes(on)) ?? []
  if (answer === undefined) throw new Error(`The script has no answer to: ${last}`)
  return answer
}
