import { readFileSync } from 'node:fs'

/**
 * The folder that the program was installed in: the one above this file, in a checkout and in a package, because all that
 * is built lies in one folder. What else is looked for beside the code is found from here.
 */
export const home = new URL('..', import.meta.url)

export const { version } = JSON.parse(readFileSync(new URL('package.json', home), 'utf8')) as { version: string }
