import { Button, CopyButton, Row } from '../../ui/button.tsx'
import { Dialog } from '../../ui/dialog.tsx'

/** Shows a new secret once. */
export const SecretDialog = ({ title, secret, onClose }: { title: string; secret: string; onClose: () => void }) => (
  <Dialog
    open
    onClose={onClose}
    title={title}
    description="Copy the signing secret now. It is not shown again. Use it to verify the events you receive."
  >
    <div className="space-y-3">
      <code data-testid="secret" className="block rounded-md bg-sunken p-3 font-mono text-sm break-all select-all">
        {secret}
      </code>
      <Row className="justify-end">
        <CopyButton text={secret} label="Copy secret" />
        <Button variant="main" onClick={onClose}>
          Done
        </Button>
      </Row>
    </div>
  </Dialog>
)
