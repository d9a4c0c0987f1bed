import { useState } from 'react'
import { canNotify, chime, noticePlace, soundPlace } from '../../alerts.ts'
import { setPreference, usePreference } from '../../preferences.ts'
import { Button } from '../../ui/button.tsx'
import { Dialog } from '../../ui/dialog.tsx'
import { Switch } from '../../ui/field.tsx'

export const keysPlace = 'qm-approval-keys'

/** Settings for notifications and shortcuts in this browser. */
export function Alerts() {
  const [isOpen, setOpen] = useState(false)
  return (
    <>
      <Button variant="quiet" onClick={() => setOpen(true)}>
        Notifications and shortcuts
      </Button>
      <Dialog
        open={isOpen}
        onClose={() => setOpen(false)}
        title="Notifications and shortcuts"
        description="Apply to this browser only."
      >
        <AlertSwitches />
      </Dialog>
    </>
  )
}

export function AlertSwitches() {
  const hasSound = usePreference(soundPlace)
  const hasNotices = usePreference(noticePlace)
  const hasKeys = usePreference(keysPlace, true)
  const [permission, setPermission] = useState(() => (canNotify() ? Notification.permission : 'denied'))
  const setNotices = async (isOn: boolean) => {
    const answer = isOn ? await Notification.requestPermission() : permission
    setPermission(answer)
    setPreference(noticePlace, isOn && answer === 'granted')
  }
  return (
    <div className="space-y-4">
      <Switch
        label="Play a sound"
        hint="When a new call needs approval"
        checked={hasSound}
        onChange={(isOn) => {
          setPreference(soundPlace, isOn)
          if (isOn) chime()
        }}
      />
      <Switch
        label="Show desktop notifications"
        hint={noticeHint(permission)}
        checked={hasNotices && permission === 'granted'}
        disabled={permission === 'denied'}
        onChange={(isOn) => void setNotices(isOn)}
      />
      <Switch
        label="Keyboard shortcuts"
        hint="a approves, r rejects, e edits, j and k move. Off while you type"
        checked={hasKeys}
        onChange={(isOn) => setPreference(keysPlace, isOn)}
      />
    </div>
  )
}

function noticeHint(permission: NotificationPermission): string {
  if (!canNotify()) return 'Available only over HTTPS or on localhost'
  if (permission === 'denied') return 'Blocked in the browser’s settings for this site'
  return 'When this page is not visible. The browser asks for permission once'
}
