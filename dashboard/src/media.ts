import { useSyncExternalStore } from 'react'

/** Whether a condition on the window holds, as `(max-width: 767px)`. */
export const useMedia = (condition: string): boolean =>
  useSyncExternalStore(
    (listener) => {
      const media = window.matchMedia(condition)
      media.addEventListener('change', listener)
      return () => media.removeEventListener('change', listener)
    },
    () => window.matchMedia(condition).matches,
  )
