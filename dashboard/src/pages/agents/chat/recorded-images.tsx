import { useQuery } from '@tanstack/react-query'
import { ask, qm } from '../../../api.ts'
import { hasImage, OutputView } from '../../../ui/output.tsx'

/** How an image is described in the text for the model: "(image, image/png, 1234 bytes)". */
const namesImage = /^\(image, image\/[\w.+-]+, \d+ bytes\)$/m

/** The images of an output, from the call log. The run itself stores only the text that was sent to the model. */
export function RecordedImages({ callId, output }: { callId: string; output: unknown }) {
  const { data: call } = useQuery({
    queryKey: ['call', callId],
    enabled: typeof output === 'string' && namesImage.test(output),
    queryFn: () => ask(qm.calls.getCall({ path: { call_id: callId } })),
  })
  return call && hasImage(call.response) && <OutputView value={call.response} />
}
