import { useQuery } from '@tanstack/react-query'
import { ask, type Body, qm, type Server } from '../../api.ts'
import { useAction } from '../../use-action.ts'

/** What is to be read again once a server has changed. */
export const serverChanges = ['server', 'servers', 'footprint']

export const saveServer = (id: string, body: Body<'servers', 'updateServer'>) =>
  ask(qm.servers.updateServer({ path: { server_id: id }, body }))

export const useSaveServer = ({ id }: Server) =>
  useAction((body: Body<'servers', 'updateServer'>) => saveServer(id, body), { changes: serverChanges })

export const useFootprint = ({ id }: Server) =>
  useQuery({
    queryKey: ['footprint', id],
    queryFn: () => ask(qm.servers.getServerFootprint({ path: { server_id: id } })),
  })
