import { stripVTControlCharacters, styleText } from 'node:util'
import { io } from './io.ts'

/** Whether a person reads the output. Programs get JSON. */
export const isForPeople = (json: boolean): boolean => io().stdout.isTTY === true && !json

/** Whether the user can be prompted. */
export const canAsk = (): boolean => io().stdin.isTTY === true && io().stderr.isTTY === true

export const columnsOf = (stream: NodeJS.WriteStream): number => Math.max(40, stream.columns || 80)

export type Style = 'bold' | 'dim' | 'red' | 'green' | 'yellow' | 'cyan'

/** Adds a color on terminals, unless NO_COLOR or TERM=dumb turn colors off. */
export function paint(style: Style, text: string, stream: NodeJS.WriteStream = io().stdout): string {
  const hasColors = stream.isTTY && stream.getColorDepth({ ...io().env }) > 1
  return hasColors ? styleText(style, text, { validateStream: false }) : text
}

/** Removes control characters, so that text from elsewhere cannot move the cursor or change colors. */
export const harmless = (text: string): string =>
  // biome-ignore lint/suspicious/noControlCharactersInRegex: terminals interpret these characters
  stripVTControlCharacters(text).replaceAll(/[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]/g, '')

/** The same, on one line. */
export const oneLine = (text: string): string => harmless(text.replaceAll(/\s+/g, ' ')).trim()

const segmenter = new Intl.Segmenter()
const wide =
  /\p{Extended_Pictographic}|[\u1100-\u115f\u2e80-\ua4cf\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe6f\uff00-\uff60]/u

/** The number of columns that a text takes. */
export function widthOf(text: string): number {
  if (/^[\x20-\x7e]*$/.test(text)) return text.length
  let width = 0
  for (const { segment } of segmenter.segment(text)) width += wide.test(segment) ? 2 : 1
  return width
}

/** Shortens a text to a number of columns. */
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

/** Shows a progress line on a terminal when the work takes longer than a second. */
export async function withProgress<T>(what: string, work: Promise<T>): Promise<T> {
  const { stderr, env } = io()
  if (!stderr.isTTY || env.TERM === 'dumb') return work
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
