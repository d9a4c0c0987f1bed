import { useQuery } from '@tanstack/react-query'
import { ask, qm } from '../../../api.ts'
import { hasImage, OutputView } from '../../../ui/output.tsx'

/** How the text that a model gets names an image: "(image, image/png, 1234 bytes)". */
const namesImage = /^\(image, image\/[\w.+-]+, \d+ bytes\)$/m

/** A run keeps the text that the model was told. The images are in the log, for those who may read it. */
export function RecordedImages({ callId, output }: { callId: string; output: unknown }) {
  const { data: call } = useQuery({
    queryKey: ['call', callId],
    enabled: typeof output === 'string' && namesImage.test(output),
    queryFn: () => ask(qm.calls.getCall({ path: { call_id: callId } })),
  })
  return call && hasImage(call.response) && <OutputView value={call.response} />
}
