import { useState } from 'react'
import { bytes } from '../format.ts'
import { Button } from './button.tsx'
import { JsonView, TextView } from './text.tsx'

interface Part {
  readonly type?: unknown
  readonly text?: unknown
  readonly data?: unknown
  readonly mimeType?: unknown
}

/** Formats that a browser decodes without running anything. SVG is not one of them: it is shown as text. */
const imageTypes = new Set(['image/png', 'image/jpeg', 'image/gif', 'image/webp', 'image/avif'])
/** In characters of base64: some 7.5 MB. */
const largestImage = 10_000_000

/** The content of an MCP result, if it is one. */
function contentOf(value: unknown): readonly Part[] {
  const { content } = (typeof value === 'object' && value !== null ? value : {}) as { content?: unknown }
  const isContent = Array.isArray(content) && content.every((part) => typeof part?.type === 'string')
  return isContent ? content : []
}

function addressOf({ type, data, mimeType }: Part): string | undefined {
  if (type !== 'image' || typeof data !== 'string' || typeof mimeType !== 'string') return undefined
  const isSafe = imageTypes.has(mimeType.toLowerCase()) && /^[A-Za-z0-9+/\s]+={0,2}\s*$/.test(data.slice(0, 1000))
  return isSafe && data.length <= largestImage ? `data:${mimeType.toLowerCase()};base64,${data}` : undefined
}

export const hasImage = (value: unknown): boolean => contentOf(value).some((part) => addressOf(part) !== undefined)

/** The output of a tool. Text and images of an MCP result are shown as such, anything else as JSON. */
export function OutputView({ value }: { value: unknown }) {
  const [isRaw, setRaw] = useState(false)
  const content = contentOf(value)
  const isShown = content.some((part) => part.type === 'text' || addressOf(part) !== undefined)
  if (typeof value === 'string') return <TextView text={value} name="output.txt" />
  if (!isShown) return <JsonView value={value} name="output.json" />
  return (
    <div className="space-y-2">
      {isRaw ? (
        <JsonView value={value} name="output.json" />
      ) : (
        // biome-ignore lint/suspicious/noArrayIndexKey: parts of a result are identified by their position
        content.map((part, index) => <PartView key={index} part={part} />)
      )}
      <Button variant="quiet" onClick={() => setRaw(!isRaw)}>
        {isRaw ? 'Show content' : 'Show as JSON'}
      </Button>
    </div>
  )
}

function PartView({ part }: { part: Part }) {
  const address = addressOf(part)
  if (address) return <ImageView address={address} size={Math.floor(address.length * 0.75)} />
  if (part.type === 'text' && typeof part.text === 'string') return <TextView text={part.text} name="output.txt" />
  return <JsonView value={part} name="output.json" />
}

function ImageView({ address, size }: { address: string; size: number }) {
  const [isBroken, setBroken] = useState(false)
  if (isBroken) return <p className="text-sm text-soft">The tool returned an image that cannot be displayed.</p>
  return (
    <figure>
      <img
        src={address}
        alt="Returned by the tool"
        onError={() => setBroken(true)}
        className="max-h-96 max-w-full rounded-md border border-line bg-sunken object-contain"
      />
      <figcaption className="mt-1 text-xs text-soft">
        {address.slice('data:'.length, address.indexOf(';'))}, {bytes(size)}
      </figcaption>
    </figure>
  )
}
