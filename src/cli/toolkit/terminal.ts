import { stripVTControlCharacters } from 'node:util'

/** Whether people read what is printed; programs get JSON. */
export const isForPeople = (json: boolean): boolean => process.stdout.isTTY === true && !json

/** Whether someone can be asked. */
export const canAsk = (): boolean => process.stdin.isTTY === true && process.stderr.isTTY === true

export const columnsOf = (stream: NodeJS.WriteStream): number => Math.max(40, stream.columns || 80)

const styles = { bold: 1, dim: 2, red: 31, green: 32, yellow: 33, cyan: 36 } as const
export type Style = keyof typeof styles

/** Colours are for terminals, and for nobody who has said no to them. */
export function paint(style: Style, text: string, stream: NodeJS.WriteStream = process.stdout): string {
  const wanted = stream.isTTY && !process.env.NO_COLOR && process.env.TERM !== 'dumb'
  return wanted ? `\x1b[${styles[style]}m${text}\x1b[0m` : text
}

/** What others wrote, without what would move a terminal's cursor or change its colours. */
export const harmless = (text: string): string =>
  // biome-ignore lint/suspicious/noControlCharactersInRegex: these are what a terminal obeys
  stripVTControlCharacters(text).replaceAll(/[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]/g, '')

/** The same, on one line. */
export const oneLine = (text: string): string => harmless(text.replaceAll(/\s+/g, ' ')).trim()

const segmenter = new Intl.Segmenter()
const wide =
  /\p{Extended_Pictographic}|[\u1100-\u115f\u2e80-\ua4cf\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe6f\uff00-\uff60]/u

/** How many columns a text takes. */
export function widthOf(text: string): number {
  if (/^[\x20-\x7e]*$/.test(text)) return text.length
  let width = 0
  for (const { segment } of segmenter.segment(text)) width += wide.test(segment) ? 2 : 1
  return width
}

/** The beginning of a text, within so many columns. */
export function cut(text: string, width: number): string {
  if (widthOf(text) <= width) return text
  let result = ''
  let used = 0
  for (const { segment } of segmenter.segment(text)) {
    used += wide.test(segment) ? 2 : 1
    if (used > width - 1) break
    result += segment
  }
  return `${result}…`
}

export const pad = (text: string, width: number): string => text + ' '.repeat(Math.max(0, width - widthOf(text)))

const frames = ['⠋', '⠙', '⠹', '⠸', '⠼', '⠴', '⠦', '⠧', '⠇', '⠏']

/** Says on a terminal that something takes its time, once it has taken a second. */
export async function withProgress<T>(what: string, work: Promise<T>): Promise<T> {
  const { stderr } = process
  if (!stderr.isTTY || process.env.TERM === 'dumb') return work
  const began = Date.now()
  let frame = 0
  let shown = false
  const timer = setInterval(() => {
    if (Date.now() - began < 1000) return
    shown = true
    const seconds = Math.round((Date.now() - began) / 1000)
    const line = cut(`${frames[frame++ % frames.length]} ${oneLine(what)} ${seconds} s`, columnsOf(stderr) - 1)
    stderr.write(`\r\x1b[2K${paint('dim', line, stderr)}`)
  }, 100)
  try {
    return await work
  } finally {
    clearInterval(timer)
    if (shown) stderr.write('\r\x1b[2K')
  }
}

/** Something that a person should know while a command goes on; never in the way of what it prints. */
export const note = (text: string): void => console.error(text)
