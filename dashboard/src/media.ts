import { useSyncExternalStore } from 'react'

/** Whether a media query matches, for example `(max-width: 767px)`. */
export const useMedia = (condition: string): boolean =>
  useSyncExternalStore(
    (listener) => {
      const media = window.matchMedia(condition)
      media.addEventListener('change', listener)
      return () => media.removeEventListener('change', listener)
    },
    () => window.matchMedia(condition).matches,
  )
