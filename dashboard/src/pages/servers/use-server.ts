import { useQuery } from '@tanstack/react-query'
import { ask, type Body, qm, type Server } from '../../api.ts'
import { useAction } from '../../use-action.ts'

export const useSaveServer = ({ id }: Server) =>
  useAction(
    (body: Body<'servers', 'updateServer'>) => ask(qm.servers.updateServer({ path: { server_id: id }, body })),
    { changes: ['server', 'servers', 'footprint'] },
  )

export const useFootprint = ({ id }: Server) =>
  useQuery({
    queryKey: ['footprint', id],
    queryFn: () => ask(qm.servers.getServerFootprint({ path: { server_id: id } })),
  })
