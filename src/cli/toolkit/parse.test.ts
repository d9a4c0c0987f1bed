import { describe, expect, test } from 'vitest'
import type { Flag } from './command.ts'
import { parseArguments } from './parse.ts'

const flags: Flag[] = [
  { name: 'project-id', value: 'id', help: '' },
  { name: 'content', value: 'text', help: '' },
  { name: 'tag', value: 'text', repeats: true, help: '' },
  { name: 'enabled', value: 'boolean', optional: true, help: '' },
  { name: 'status', value: 'status', choices: ['open', 'closed'], help: '' },
  { name: 'no-wait', help: '' },
  { name: 'sample', negatable: true, help: '' },
  { name: 'help', short: 'h', help: '' },
]

const parse = (...args: string[]) => {
  const { words, given } = parseArguments(flags, args)
  return { words, ...Object.fromEntries(given) }
}

describe('arguments', () => {
  test.each([
    [['--content', 'a', 'word', '--no-wait'], { words: ['word'], content: ['a'], 'no-wait': ['true'] }],
    [['--content=a=b', '--tag', 'x', '--tag=y'], { words: [], content: ['a=b'], tag: ['x', 'y'] }],
    [['--project_id', '1'], { words: [], 'project-id': ['1'] }],
    [['--projectId=1'], { words: [], 'project-id': ['1'] }],
    [['--content', '-- 7 --'], { words: [], content: ['-- 7 --'] }],
    [['--content', '-'], { words: [], content: ['-'] }],
    [['--content', ''], { words: [], content: [''] }],
    [['--content', '--unknown'], { words: [], content: ['--unknown'] }],
    [['--content=--tag'], { words: [], content: ['--tag'] }],
    [['--enabled', '--content', 'a'], { words: [], enabled: ['true'], content: ['a'] }],
    [['--enabled', 'false'], { words: [], enabled: ['false'] }],
    [['--sample'], { words: [], sample: ['true'] }],
    [['--no-sample'], { words: [], sample: ['false'] }],
    [['-h'], { words: [], help: ['true'] }],
    [['--', '--content', '--project_id'], { words: ['--content', '--project_id'] }],
    [['-5'], { words: ['-5'] }],
  ])('are parsed: %j', (args, expected) => {
    expect(parse(...args)).toEqual(expected)
  })

  test.each([
    [['--contnet', 'a'], 'Unknown flag --contnet. Did you mean --content?'],
    [['--key=secret'], 'Unknown flag --key.'],
    [['-x'], 'Unknown flag -x.'],
    [['--content'], '--content needs a value.'],
    [['--content', '--tag', 'a'], '--content needs a value.'],
    [['--content', '--tag=a'], '--content needs a value.'],
    [['--content', 'a', '--content', 'b'], '--content is given twice.'],
    [['--no-wait=true'], '--no-wait does not take a value.'],
    [['--status', 'ajar'], '--status must be one of open, closed.'],
  ])('are refused: %j', (args, message) => {
    expect(() => parse(...args)).toThrow(message)
    expect(() => parse(...args)).toThrow(/^((?!secret).)*$/)
  })

  test('are left unparsed from the first positional on if the command parses them itself', () => {
    const { words, given } = parseArguments(flags, ['--content', 'a', 'tool', '--city', 'Rio', '--', '--tag'], {
      stopAtWord: true,
    })

    expect(words).toEqual(['tool', '--city', 'Rio', '--', '--tag'])
    expect([...given]).toEqual([['content', ['a']]])
  })
})
