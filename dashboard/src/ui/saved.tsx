import { useEffect, useState } from 'react'

/** Says for a moment that something was saved, whenever the time of its last change moves on. */
export function SavedMark({ at }: { at: string }) {
  const [first, setFirst] = useState(at)
  const isNew = at !== first
  useEffect(() => {
    if (!isNew) return
    const timer = setTimeout(() => setFirst(at), 4000)
    return () => clearTimeout(timer)
  }, [isNew, at])
  return (
    <span role="status" className="text-sm text-good">
      {isNew ? 'Saved' : ''}
    </span>
  )
}
