import { isEnabled } from './preferences.ts'

export const soundPlace = 'qm-approval-sound'
export const noticePlace = 'qm-approval-notices'
const latestPlace = 'qm-approval-alerted'

let audio: AudioContext | undefined

/** Plays two short notes. Silent until the user has interacted with the page. */
export function chime(): void {
  try {
    audio ??= new AudioContext()
    void audio.resume()
    const start = audio.currentTime + 0.02
    for (const [at, pitch] of [
      [0, 660],
      [0.14, 880],
    ] as const) {
      const note = audio.createOscillator()
      const volume = audio.createGain()
      note.frequency.value = pitch
      volume.gain.setValueAtTime(0, start + at)
      volume.gain.linearRampToValueAtTime(0.12, start + at + 0.015)
      volume.gain.exponentialRampToValueAtTime(0.001, start + at + 0.28)
      note.connect(volume).connect(audio.destination)
      note.start(start + at)
      note.stop(start + at + 0.3)
    }
  } catch {
    // The browser has no audio.
  }
}

export const canNotify = (): boolean => 'Notification' in window && window.isSecureContext

interface News {
  readonly id: string
  readonly action: string
  readonly who: string
}

/** Notifies of new approvals, once for all open tabs, and only in the ways the user has turned on. */
export function notifyOfApprovals(news: readonly News[], open: (id: string) => void): void {
  const newest = news.toSorted((a, b) => (a.id < b.id ? 1 : -1))[0]
  // Ids sort by time.
  if (!newest || (localStorage.getItem(latestPlace) ?? '') >= newest.id) return
  localStorage.setItem(latestPlace, newest.id)
  if (isEnabled(soundPlace)) chime()
  if (document.visibilityState === 'hidden' && isEnabled(noticePlace)) notify(newest, news.length, open)
}

function notify({ id, action, who }: News, number: number, open: (id: string) => void): void {
  if (!canNotify() || Notification.permission !== 'granted') return
  try {
    const title = number === 1 ? `${action} needs approval` : `${number} calls need approval`
    const notice = new Notification(title, { body: `Requested by ${who}`, tag: 'qm-approvals', icon: '/icon.svg' })
    notice.onclick = () => {
      window.focus()
      open(id)
      notice.close()
    }
  } catch {
    // Some mobile browsers define Notification but do not support it.
  }
}
