import { Button, CopyButton, Row } from '../../ui/button.tsx'
import { Dialog } from '../../ui/dialog.tsx'

/** A secret, this once. */
export const SecretDialog = ({ title, secret, onClose }: { title: string; secret: string; onClose: () => void }) => (
  <Dialog
    open
    onClose={onClose}
    title={title}
    description="Copy its secret now: it is shown this once. Whoever receives the events verifies them with it."
  >
    <div className="space-y-3">
      <code data-testid="secret" className="block rounded-md bg-sunken p-3 font-mono text-sm break-all select-all">
        {secret}
      </code>
      <Row className="justify-end">
        <CopyButton text={secret} label="Copy the secret" />
        <Button look="main" onClick={onClose}>
          I have it
        </Button>
      </Row>
    </div>
  </Dialog>
)
