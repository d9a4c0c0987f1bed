import { unaliased } from '../catalogue/presets.ts'
import type { Authorized, Preset } from './call.ts'

/** Fixed values win over whatever was sent, under any of a field's names. */
export const preset = (call: Authorized): Preset => ({
  ...call,
  merged: { ...unaliased(call.input, call.offer.action), ...call.offer.presets },
})
