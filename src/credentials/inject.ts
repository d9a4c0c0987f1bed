import { PlatformError } from '../model/errors.ts'

/** Finds the value of a secret of the project, or nothing. */
export type FindSecret = (name: string) => string | undefined

const reference = /\$\{\{\s*secrets\.([A-Za-z0-9_]+)\s*\}\}/g

/** Replaces `${{ secrets.NAME }}` at the last moment, so that values are in no record and in no error. */
export function inject(values: Readonly<Record<string, string>>, findSecret: FindSecret): Record<string, string> {
  const injected: Record<string, string> = {}
  for (const [key, value] of Object.entries(values)) {
    injected[key] = value.includes('${{')
      ? value.replace(reference, (_, name: string) => {
          const secret = findSecret(name)
          if (secret === undefined) throw new PlatformError('SECRET_NOT_FOUND', { secret: name })
          return secret
        })
      : value
  }
  return injected
}
