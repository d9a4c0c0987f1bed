import { useState } from 'react'
import { canNotify, chime, noticePlace, soundPlace } from '../../alerts.ts'
import { keep, useKept } from '../../kept.ts'
import { Button } from '../../ui/button.tsx'
import { Dialog } from '../../ui/dialog.tsx'
import { Switch } from '../../ui/field.tsx'

export const keysPlace = 'qm-approval-keys'

/** How this browser draws attention to a call that waits. */
export function Alerts() {
  const [isOpen, setOpen] = useState(false)
  return (
    <>
      <Button look="quiet" onClick={() => setOpen(true)}>
        Sound and keys
      </Button>
      <Dialog
        open={isOpen}
        onClose={() => setOpen(false)}
        title="When a call waits"
        description="In this browser only."
      >
        <AlertSwitches />
      </Dialog>
    </>
  )
}

export function AlertSwitches() {
  const hasSound = useKept(soundPlace)
  const hasNotices = useKept(noticePlace)
  const hasKeys = useKept(keysPlace, true)
  const [permission, setPermission] = useState(() => (canNotify() ? Notification.permission : 'denied'))
  const setNotices = async (isOn: boolean) => {
    const answer = isOn ? await Notification.requestPermission() : permission
    setPermission(answer)
    keep(noticePlace, isOn && answer === 'granted')
  }
  return (
    <div className="space-y-4">
      <Switch
        label="Play a sound"
        hint="Two short notes when a new call waits"
        checked={hasSound}
        onChange={(isOn) => {
          keep(soundPlace, isOn)
          if (isOn) chime()
        }}
      />
      <Switch
        label="Show a notice of the system"
        hint={noticeHint(permission)}
        checked={hasNotices && permission === 'granted'}
        disabled={permission === 'denied'}
        onChange={(isOn) => void setNotices(isOn)}
      />
      <Switch
        label="Decide with single keys"
        hint="a approves, r rejects, e edits, j and k move; never while you type"
        checked={hasKeys}
        onChange={(isOn) => keep(keysPlace, isOn)}
      />
    </div>
  )
}

function noticeHint(permission: NotificationPermission): string {
  if (!canNotify()) return 'The browser allows these only over HTTPS or on this machine'
  if (permission === 'denied') return 'The browser was told not to show any: change that in its settings for this site'
  return 'When this page is not in sight; the browser asks you once'
}
