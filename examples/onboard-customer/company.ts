import { createServer, type IncomingMessage } from 'node:http'
import type { AddressInfo } from 'node:net'
import { json } from 'node:stream/consumers'

const leads: Record<string, { company: string; people: string[] }> = {
  'ana.example': { company: 'Ana & Co', people: ['ana@ana.example', 'ben@ana.example', 'cem@ana.example'] },
  'broke.example': { company: 'Broke Inc', people: ['dana@broke.example'] },
  'eva.example': { company: 'Eva GmbH', people: ['eva@eva.example', 'finn@eva.example'] },
}

/** The existing systems of a company: a CRM, billing, accounts and mail. Declines the card of Broke Inc. */
export async function startCompany() {
  const effects: string[] = []
  const contracts: string[] = []
  let accounts = 0

  const answer = async (request: IncomingMessage): Promise<[status: number, body: unknown]> => {
    const [, kind = '', id = ''] = (request.url ?? '').split('/')
    if (request.method === 'GET') return leads[id] ? [200, leads[id]] : [404, { error: `no lead ${id}` }]
    const body = request.method === 'POST' ? ((await json(request)) as Record<string, string>) : {}
    effects.push([request.method, kind, id || Object.values(body).at(-1)].join(' '))
    if (kind === 'contracts') return [200, { id: `contract-${contracts.push(body.company ?? '')}` }]
    if (kind === 'accounts') return [200, { id: id || `account-${++accounts}` }]
    const company = contracts[Number(body.contract?.split('-')[1]) - 1]
    if (kind === 'subscriptions' && company === 'Broke Inc') return [402, { error: 'the card was declined' }]
    return [200, { ok: true, ...body }]
  }

  const server = createServer((request, response) => {
    void answer(request).then(([status, body]) =>
      response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body)),
    )
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    /** What has been changed since the last call. */
    takeEffects: () => effects.splice(0),
    close: () => {
      server.closeAllConnections()
      server.close()
    },
  }
}
