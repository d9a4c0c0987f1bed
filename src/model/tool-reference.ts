/** What names a tool to people: `salesforce/create_contact`, or just `create_contact` where one app has it. */
export interface ToolReference {
  readonly app?: string
  readonly name: string
}

/** Neither an app nor a name has a slash in it. */
export function readToolReference(text: string): ToolReference {
  const at = text.indexOf('/')
  return at < 0 ? { name: text } : { app: text.slice(0, at), name: text.slice(at + 1) }
}

export const printToolReference = ({ app, name }: { readonly app: string; readonly name: string }): string =>
  `${app}/${name}`
