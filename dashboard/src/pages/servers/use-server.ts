import { useQuery } from '@tanstack/react-query'
import { ask, qm, type Server, type ServerChanges } from '../../api.ts'
import { useAction } from '../../use-action.ts'

/** The queries to reload after a server has changed. */
export const serverChanges = ['server', 'servers', 'footprint']

export const saveServer = (id: string, body: ServerChanges) =>
  ask(qm.servers.updateServer({ path: { server_id: id }, body }))

export const useSaveServer = ({ id }: Server) =>
  useAction((body: ServerChanges) => saveServer(id, body), { changes: serverChanges })

export const useFootprint = ({ id }: Server) =>
  useQuery({
    queryKey: ['footprint', id],
    queryFn: () => ask(qm.servers.getServerFootprint({ path: { server_id: id } })),
  })
