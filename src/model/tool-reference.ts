/** A readable reference to a tool: `salesforce/create_contact`, or `create_contact` if only one app has it. */
export interface ToolReference {
  readonly app?: string
  readonly name: string
}

/** Parses a reference. Apps and names contain no slash. */
export function readToolReference(text: string): ToolReference {
  const at = text.indexOf('/')
  return at < 0 ? { name: text } : { app: text.slice(0, at), name: text.slice(at + 1) }
}

export const printToolReference = ({ app, name }: { readonly app: string; readonly name: string }): string =>
  `${app}/${name}`
