import { globSync } from 'node:fs'
import { exit, type Runner, UsageError } from '../toolkit/command.ts'
import { note, say } from '../toolkit/io.ts'
import { isSet, readArguments } from '../toolkit/parse.ts'
import { print } from '../toolkit/print.ts'
import { harmless, isForPeople, paint } from '../toolkit/terminal.ts'

/** Runs scenarios, each on a platform of its own in this process. */
export const test: Runner = async (invocation) => {
  const { words, given } = readArguments(invocation, 1000)
  const files = words.flatMap((word) => (/[*?[]/.test(word) ? globSync(word).sort() : [word]))
  if (files.length === 0) throw new UsageError('No scenarios. Name their files: quartermaster test scenarios/*.yaml')
  // Loads the whole platform, which other commands do not need.
  const { runScenario } = await import('../scenarios/run-scenario.ts')
  const json = isSet(given, 'json')
  const results = []
  for (const file of files) {
    const result = await runScenario(file).catch((error: unknown) => ({
      name: file,
      failures: [(error as Error).message],
      modelCalls: 0,
    }))
    results.push({ file, ...result })
    if (isForPeople(json)) show(result)
  }
  const failed = results.filter(({ failures }) => failures.length > 0).length
  if (!isForPeople(json)) print({ results, failed }, { json })
  else say(`${results.length - failed} passed, ${failed} failed`)
  return failed > 0 ? exit.refused : exit.ok
}

function show({ name, failures, modelCalls }: { name: string; failures: readonly string[]; modelCalls: number }): void {
  const mark = failures.length === 0 ? paint('green', '✓') : paint('red', '✗')
  say(`${mark} ${harmless(name)} ${paint('dim', `(${modelCalls} model calls)`)}`)
  for (const failure of failures) note(`  ${harmless(failure)}`)
}
