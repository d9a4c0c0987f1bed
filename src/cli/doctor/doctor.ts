import { fileURLToPath } from 'node:url'
import { type Config, readConfig } from '../../config.ts'
import { home } from '../../home.ts'
import { exit, type Runner, UsageError } from '../toolkit/command.ts'
import { openSession, type Session } from '../toolkit/connection.ts'
import { io, say } from '../toolkit/io.ts'
import { type Arguments, isSet, readArguments, textOf } from '../toolkit/parse.ts'
import { print } from '../toolkit/print.ts'
import { findProfile } from '../toolkit/profiles.ts'
import { harmless, isForPeople, paint, withProgress } from '../toolkit/terminal.ts'
import { type Finding, reasonOf, skipped, wrong } from './finding.ts'
import {
  checkDashboard,
  checkFolder,
  checkModel,
  checkNode,
  checkPort,
  checkPostgres,
  checkSecretKey,
  checkSqlite,
} from './machine.ts'
import { checkEgress, checkKeys, checkPlatform, checkReady, checkUpstreams } from './platform.ts'

/** Checks this machine and the platform. Changes nothing. */
export const doctor: Runner = async (invocation) => {
  const read = readArguments(invocation, 0)
  const findings = await withProgress('Checking …', examine(read))
  const json = isSet(read.given, 'json')
  if (isForPeople(json)) say(textFor(findings))
  else print({ findings, wrong: findings.filter(({ state }) => state === 'wrong').length }, { json })
  return findings.some(({ state }) => state === 'wrong') ? exit.refused : exit.ok
}

async function examine(read: Arguments): Promise<Finding[]> {
  let config: Config
  try {
    const { env } = io()
    const here = localPlatform(textOf(read, 'url') ?? env.QM_URL ?? (await savedUrl(read)))
    const flags = {
      port: textOf(read, 'port') ?? (env.QM_PORT ? undefined : here?.port),
      host: textOf(read, 'host') ?? (env.QM_HOST ? undefined : here?.host),
      data: textOf(read, 'data'),
    }
    config = readConfig(flags, env)
  } catch (error) {
    const advice = 'Correct the setting. "quartermaster up --help" lists all settings.'
    return [checkNode(), wrong('settings', `${reasonOf(error)}.`, advice)]
  }
  return [checkNode(), ...(await machine(config)), ...(await platform(read, config))]
}

const savedUrl = (read: Arguments): Promise<string | undefined> =>
  findProfile(textOf(read, 'profile') ?? (io().env.QM_PROFILE || undefined)).then(
    (profile) => profile?.url,
    () => undefined,
  )

/** Where the platform listens, if its address is on this machine. */
function localPlatform(url: string | undefined): { readonly host: string; readonly port: string } | undefined {
  const { hostname = '', port = '', protocol } = URL.parse(url ?? '') ?? {}
  const host = hostname.replaceAll(/[[\]]/g, '')
  if (!/^(localhost|127\..*|::1)$/.test(host) || protocol !== 'http:') return undefined
  return { host, port: port || '80' }
}

async function machine(config: Config): Promise<Finding[]> {
  const port = await checkPort(config)
  const isRunning = port.what.startsWith('A Quartermaster')
  const checkKey = checkSecretKey(config)
  const folder = await checkFolder(config.data, isRunning)
  const database = config.databaseUrl
    ? await checkPostgres(config.databaseUrl, checkKey)
    : folder.state === 'wrong' && !folder.what.includes('in use')
      ? []
      : await checkSqlite(config.data, checkKey)
  return [port, folder, ...database, await checkModel(config), await checkDashboard(fileURLToPath(home))]
}

async function platform(read: Arguments, config: Config): Promise<Finding[]> {
  let session: Session
  try {
    session = await openSession(read.given)
  } catch (error) {
    if (!(error instanceof UsageError)) throw error
    return [skipped('platform', `Not checked: ${error.message}`)]
  }
  const first = await checkPlatform(session)
  if (first.some(({ check, state }) => state === 'wrong' && check !== 'clock')) return first
  return [
    ...first,
    await checkReady(session),
    await checkUpstreams(session),
    await checkEgress(session, config),
    ...(await checkKeys(session)),
  ]
}

const marks = { fine: ['green', '✓'], wrong: ['red', '✗'], skipped: ['dim', '-'] } as const

function textFor(findings: readonly Finding[]): string {
  const lines = findings.map(({ check, state, what, advice }) => {
    const [style, mark] = marks[state]
    const first = `${paint(style, mark)} ${paint('bold', check)}: ${harmless(what)}`
    return advice === undefined ? first : `${first}\n  ${paint('yellow', '→')} ${harmless(advice)}`
  })
  const count = findings.filter(({ state }) => state === 'wrong').length
  const sum =
    count === 0
      ? paint('green', 'No problems found.')
      : paint('red', count === 1 ? '1 problem found.' : `${count} problems found.`)
  return [...lines, '', sum].join('\n')
}
