import { readFileSync } from 'node:fs'

/**
 * The folder of the installation. It is the parent of this file's folder, both in a checkout and in a package, because the
 * build output is a single folder. Files besides the code are located relative to it.
 */
export const home = new URL('..', import.meta.url)

export const { version } = JSON.parse(readFileSync(new URL('package.json', home), 'utf8')) as { version: string }
