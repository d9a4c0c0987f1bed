import { expect, test } from 'vitest'
import type { PlatformError } from '../../model/errors.ts'
import type { Message } from '../../model/message.ts'
import { loadScript, Player, type ReplayOutcome } from './replay.ts'

const user = (content: string): Message => ({ role: 'user', content })
const said = (content: string): Message => ({ role: 'assistant', content })
const result = (tool_name: string, output: unknown, is_error = false): Message => ({
  ...{ role: 'tool', tool_call_id: 'c', tool_name, is_error },
  output: output as never,
})

const play = (script: unknown, messages: Message[], rest: { tools?: string[]; model?: string } = {}): ReplayOutcome =>
  new Player(loadScript(script)).play({ model: 'm', tools: [], ...rest, messages })

const textIn = (played: ReplayOutcome) =>
  played.kind === 'answer' ? played.performance.chunks.map(({ text }) => text).join('') : played.failure

const faultsIn = (given: unknown) => {
  try {
    loadScript(given)
    return []
  } catch (error) {
    return (error as PlatformError<'VALIDATION_FAILED'>).details.errors
  }
}

test('a step without "when" answers at its position, however often the request is repeated', () => {
  const script = { steps: [{ answer: 'one' }, { answer: 'two' }] }
  const player = new Player(loadScript(script))
  const ask = (messages: Message[]) => textIn(player.play({ model: 'm', tools: [], messages }))

  expect(ask([user('a')])).toBe('one')
  expect(ask([user('a')])).toBe('one')
  expect(ask([user('a'), said('one'), user('b')])).toBe('two')
})

test.each<[when: object, messages: Message[], rest: object, fits: boolean]>([
  [{ step: 2 }, [user('a'), said('b')], {}, true],
  [{ step: 2 }, [user('a')], {}, false],
  [{ turn_step: 1 }, [user('a'), said('b'), user('c')], {}, true],
  [{ turn_step: 2 }, [user('a'), said('b'), user('c')], {}, false],
  [{ last_user: 'ell' }, [user('hello')], {}, true],
  [{ last_user: { equals: 'ell' } }, [user('hello')], {}, false],
  [{ last_user: { matches: '^h.*o$' } }, [user('hello')], {}, true],
  [{ last_user: 'a' }, [user('a'), said('x'), user('b')], {}, false],
  [{ system: 'kind' }, [{ role: 'system', content: 'Be kind' }, user('a')], {}, true],
  [{ system: 'kind' }, [user('a')], {}, false],
  [{ last_tool: 't' }, [user('a'), said('x'), result('t', 1)], {}, true],
  [{ last_tool: 't' }, [user('a'), said('x'), result('u', 1)], {}, false],
  [{ last_tool: 't' }, [user('a'), said('x'), result('t', 1), user('b')], {}, false],
  [{ last_tool: null }, [user('a'), said('x'), result('t', 1)], {}, false],
  [{ last_tool: null }, [user('a')], {}, true],
  [{ last_tool: { is_error: true } }, [user('a'), result('t', 'no', true)], {}, true],
  [{ last_tool: { name: 't', output: '"ok":true' } }, [user('a'), result('t', { ok: true })], {}, true],
  [{ last_tool: { output: { equals: 'no' } } }, [user('a'), result('t', 'yes')], {}, false],
  [{ tools: ['x', 'y'] }, [user('a')], { tools: ['y', 'x', 'z'] }, true],
  [{ tools: ['x', 'y'] }, [user('a')], { tools: ['x'] }, false],
  [{ model: 'm' }, [user('a')], {}, true],
  [{ model: 'n' }, [user('a')], {}, false],
  [{ last_user: 'a', step: 2 }, [user('a')], {}, false],
  [{}, [user('a'), said('x'), user('b'), said('y')], {}, true],
])('"when" %j, messages %j, request %j: matches is %s', (when, messages, rest, fits) => {
  const script = {
    steps: [
      { when, answer: 'this' },
      { when: {}, answer: 'that' },
    ],
  }

  expect(textIn(play(script, messages, rest))).toBe(fits ? 'this' : 'that')
})

test('placeholders are filled in from the conversation, and a number stays a number', () => {
  const messages = [user('Recife'), said('x'), result('t', { degrees: 31, list: ['a', 'b'] })]
  const answer = {
    text: 'In {{last_user}}: {{last_tool_output.degrees}}, {{ last_tool_output.list.1 }}{{last_tool_output.none}} ({{step}})',
    tool_calls: [
      { name: 'next', args: { by: '{{last_tool_output.degrees}}', note: 'at {{last_tool_output.degrees}}' } },
    ],
  }

  const filled = play({ steps: [{ when: {}, answer }] }, messages)
  const literal = play({ steps: [{ when: {}, answer: { ...answer, literal: true } }] }, messages)

  expect(textIn(filled)).toBe('In Recife: 31, b (2)')
  expect(filled).toMatchObject({ performance: { toolCalls: [{ args: '{"by":31,"note":"at 31"}' }] } })
  expect(textIn(literal)).toBe(answer.text)
})

test('an error with "times" is returned that many times in each conversation', () => {
  const player = new Player(loadScript({ steps: [{ error: { status: 429, times: 2 }, answer: 'ok' }] }))
  const ask = (text: string) => player.play({ model: 'm', tools: [], messages: [user(text)] }).kind

  expect([ask('a'), ask('a'), ask('b'), ask('a'), ask('b'), ask('b')]).toEqual([
    'error',
    'error',
    'error',
    'answer',
    'error',
    'answer',
  ])
})

test('a request that matches no step fails with a description of the request and the steps', () => {
  const script = {
    name: 'mine',
    steps: [{ name: 'hello', when: { last_user: 'hello' }, answer: 'x' }, { answer: 'y' }],
  }

  expect(() => play(script, [user('bye')], { tools: ['a_tool'] })).toThrow(
    /"mine" matches the request: step 1, last user message "bye", no tool result last, tools offered: a_tool\. The steps are: "hello" .*; step 2 \(step is 2\)/,
  )
})

test('an invalid script is refused with the path of every error in it', () => {
  expect(
    faultsIn({
      steps: [
        {},
        { answer: 'x', wen: {} },
        { answer: { tool_calls: [{ args: 1 }] }, when: { step: 0 } },
        { error: { status: 429, times: 1 } },
      ],
    }).map(({ path }) => path),
  ).toEqual(
    expect.arrayContaining([
      'script.steps[0]',
      'script.steps[1].wen',
      'script.steps[2].answer.tool_calls[0].name',
      'script.steps[2].when.step',
      'script.steps[3]',
    ]),
  )
  expect(faultsIn('steps:\n  - answer: [\n')[0]?.path).toMatch(/^script \(line \d+, column \d+\)$/)
  expect(faultsIn('')).toHaveLength(1)
  expect(faultsIn({ steps: [{ when: { last_user: { matches: '(a+)+\\1(' } }, answer: 'x' }] })[0]?.path).toBe(
    'script.steps[0].when.last_user.matches',
  )
})

test('YAML aliases cannot expand a short script to gigabytes', () => {
  const lines = ['a0: &a0 [x, x, x, x, x, x, x, x, x, x]']
  for (let at = 1; at < 12; at++) {
    lines.push(`a${at}: &a${at} [${Array.from({ length: 10 }, () => `*a${at - 1}`).join(', ')}]`)
  }

  expect(faultsIn(lines.join('\n'))).toMatchObject([{ path: 'script' }])
})

test('a long script is accepted as JSON and refused as YAML, which is slow to parse', () => {
  const steps = Array.from({ length: 5000 }, (_, at) => ({ when: { step: at + 1 }, answer: `This is number ${at}` }))
  const yaml = `steps:\n${steps.map(({ answer }) => `  - answer: ${answer}\n    when: {}`).join('\n')}\n`

  expect(faultsIn(JSON.stringify({ steps }))).toEqual([])
  expect(faultsIn(yaml)).toMatchObject([{ path: 'script', message: expect.stringContaining('JSON') }])
})
