import { type Logger, pino } from 'pino'
import { escaped } from './lib/escaped.ts'

/** Logs to standard error: readable lines on a terminal, JSON lines otherwise. */
export function createLog(level: string, terminal: NodeJS.WriteStream = process.stderr): Logger {
  const options = { level, redact: ['req.headers.authorization', '*.authorization'] }
  if (!terminal.isTTY) return pino(options, pino.destination(2))
  const isColored = !process.env.NO_COLOR && process.env.TERM !== 'dumb'
  return pino(options, { write: (line: string) => void terminal.write(`${readable(line, isColored)}\n`) })
}

const colors: Readonly<Record<string, number>> = { debug: 2, info: 36, warn: 33, error: 31, fatal: 31 }

/** `14:03:07 WARN  an MCP server is down  tools=files`, followed by the stack trace of an error, if any. */
export function readable(line: string, isColored: boolean): string {
  const {
    level,
    time,
    msg = '',
    pid: _pid,
    hostname: _host,
    err,
    ...rest
  } = JSON.parse(line) as Record<string, unknown>
  const name = pino.levels.labels[Number(level)] ?? 'info'
  const paint = (code: number | undefined, text: string) =>
    isColored && code !== undefined ? `\x1b[${code}m${text}\x1b[0m` : text
  const clock = new Date(Number(time)).toTimeString().slice(0, 8)
  const fields = Object.entries(rest).map(([key, value]) => paint(2, `${key}=${shown(value)}`))
  const label = paint(colors[name], name.toUpperCase().padEnd(5))
  const first = [`${paint(2, clock)} ${label} ${shown(String(msg))}`, ...fields].join('  ')
  const { stack, message } = Object(err) as { stack?: string; message?: string }
  const trace = stack ?? message
  return trace === undefined ? first : `${first}\n${escaped(trace).replaceAll(/^/gm, '    ')}`
}

const shown = (value: unknown): string => {
  if (Array.isArray(value)) return value.map(shown).join(',')
  return escaped(typeof value === 'string' ? value : JSON.stringify(value)).replaceAll('\n', '\\n')
}
