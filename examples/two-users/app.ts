import type { Quartermaster } from 'quartermaster/sdk'
import { listen } from './listen.ts'

/**
 * The verifier page of an application. The platform sends everyone who opens a connect link here, and the application says who
 * is signed in. A real application looks up its session; here the cookie is the name of the user.
 */
export const startApp = (qm: Quartermaster) =>
  listen(async (request, response) => {
    const flow = new URL(request.url ?? '', 'http://localhost').searchParams.get('flow_id') ?? ''
    const [, user = ''] = /(?:^|; )user=(\w+)/.exec(request.headers.cookie ?? '') ?? []
    const { data, error } = await qm.connections.confirmConnectFlow({
      path: { flow_id: flow },
      body: { end_user_id: user },
    })
    if (data) response.writeHead(302, { location: data.connect_url }).end()
    else response.writeHead(403, { 'content-type': 'text/plain' }).end(error?.message)
  })
