import type { Catalogue, Entry, Offer } from '../catalogue/catalogue.ts'
import { findByName } from '../catalogue/names.ts'
import { orDidYouMean } from '../lib/nearest.ts'
import { PlatformError } from '../model/errors.ts'
import type { ToolRecord } from '../store/tools.ts'
import { requireCall } from './authorize.ts'
import type { Asked, Resolved } from './call.ts'

/** Finds what is to be called. A tool of another project is found here and refused by the next step. */
export function resolve(asked: Asked, catalogue: Catalogue, record?: Recorded): Resolved | Promise<Resolved> {
  const known = catalogue.known(asked.toolId)
  return known
    ? resolved(asked, known, record)
    : catalogue.find(asked.toolId).then((entry) => resolved(asked, entry, record))
}

/** What the record learns of a call whose tool is known and whose action is not. */
interface Recorded {
  found(tool: ToolRecord): void
}

function resolved(asked: Asked, entry: Entry | undefined, record?: Recorded): Resolved {
  if (!entry) throw new PlatformError('RESOURCE_NOT_FOUND', { kind: 'tool', id: asked.toolId })
  return { ...asked, entry, offer: offerOf(entry, asked, record) }
}

function offerOf(entry: Entry, { action: name, principal }: Asked, record?: Recorded): Offer {
  const { tool, type, offers } = entry
  const wrong = (message: string) => {
    // Which actions there are is not for those who may not call the tool.
    requireCall(principal, tool)
    record?.found(tool)
    return new PlatformError('VALIDATION_FAILED', { errors: [{ path: 'action', message }] })
  }
  const [only] = offers.values()
  if (name === undefined) {
    if (!type.many && only) return only
    throw wrong(`is missing: "${tool.name}" offers ${quoted([...offers.keys()])}`)
  }
  const [found, another] = findByName(offers, name)
  if (found && another) throw wrong(`"${name}" could be "${found.action.name}" or "${another.action.name}"`)
  if (found) return found
  const known = [...offers.keys()]
  throw wrong(`"${tool.name}" offers no action "${name}"${orDidYouMean(name, known) || `, but ${quoted(known)}`}`)
}

const quoted = (names: readonly string[]) => names.map((name) => `"${name}"`).join(' or ')
