import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { referenceParse } from '../../test/xml-reference.ts'
import { joined, parseXml, type XmlEvent, XmlParser } from './parser.ts'

const call = (server = 'weather', tool = 'get_forecast', args = '{"city":"Recife"}') =>
  `<use_mcp_tool>\n<server_name>${server}</server_name>\n<tool_name>${tool}</tool_name>\n<arguments>\n${args}\n</arguments>\n</use_mcp_tool>`

/** The events of a message, each in short: text, or the kind with what matters. */
const brief = (events: readonly XmlEvent[]) =>
  events.map((event) => {
    switch (event.kind) {
      case 'text':
        return event.text
      case 'call':
        return event.call.tag === 'use_mcp_tool'
          ? { call: event.call.toolName, args: event.call.arguments }
          : { resource: event.call.uri }
      case 'invalid':
        return { invalid: event.faults.map(({ parameter, message }) => `${parameter} ${message}`) }
      case 'skipped':
        return { skipped: event.inside }
      default:
        return { incomplete: event.block.parameters }
    }
  })
const read = (text: string, fenced: 'skip' | 'run' = 'skip') => brief(parseXml(text, { fenced }))

const forecast = { call: 'get_forecast', args: { city: 'Recife' } }

describe('a message', () => {
  test('without a block is text, and an empty one has no events', () => {
    expect(read('just\ntext')).toEqual(['just\ntext'])
    expect(read('')).toEqual([])
  })

  test('with a block is a call with server, tool and arguments (S3.1) (S3.2) (S3.3) (S3.4) (S3.5)', () => {
    const [event] = parseXml(call())

    expect(event).toMatchObject({
      kind: 'call',
      call: { tag: 'use_mcp_tool', serverName: 'weather', toolName: 'get_forecast', arguments: { city: 'Recife' } },
    })
  })

  test('can have arguments on one line or on several, with space around them (S3.6)', () => {
    const line =
      '<use_mcp_tool><server_name> weather </server_name><tool_name>get_forecast\n</tool_name><arguments>{"city":"Recife"}</arguments></use_mcp_tool>'

    expect(read(line)).toEqual([forecast])
    expect(read(call('weather', 'get_forecast', '\n\n {\n  "city": "Recife"\n}\n\n'))).toEqual([forecast])
  })

  test('has the text and comments around a block apart from it (S3.7)', () => {
    const text = `I will look.\n${call()}\n<!-- Wait for the result -->`

    expect(read(text)).toEqual(['I will look.\n', forecast, '\n<!-- Wait for the result -->'])
  })

  test('can have several blocks, with or without text between them', () => {
    expect(read(`a${call()}b${call()}${call()}`)).toEqual(['a', forecast, 'b', forecast, forecast])
  })

  test('can access a resource', () => {
    const block = '<access_mcp_resource><server_name>s</server_name><uri>file:///a?b=c&d</uri></access_mcp_resource>'

    expect(read(block)).toEqual([{ resource: 'file:///a?b=c&d' }])
  })
})

describe('arguments', () => {
  test('end where the JSON ends, even if strings in it contain closing tags', () => {
    const args = '{"code":"</arguments></use_mcp_tool>","n":[1,{"a":"}"}]}'

    expect(read(`${call('s', 't', args)}!`)).toEqual([{ call: 't', args: JSON.parse(args) }, '!'])
  })

  test('that contain a whole block in a string are one call', () => {
    const args = JSON.stringify({ text: call() })

    expect(read(call('s', 't', args))).toEqual([{ call: 't', args: { text: call() } }])
  })

  test('can contain HTML and escaped quotes', () => {
    const args = { html: '<div class="a">\\"<b></div>' }

    expect(read(call('s', 't', JSON.stringify(args)))).toEqual([{ call: 't', args }])
  })

  test.each([
    ['{"city": Recife}', /^arguments is not valid JSON: .*Recife/],
    ['{"a":1,}', /^arguments is not valid JSON/],
    ['{"a":1} and more', /^arguments is not valid JSON/],
    ['{"a":"line\nbreak"}', /^arguments is not valid JSON/],
    ['[1, 2]', /^arguments must be a JSON object/],
    ['"text"', /^arguments must be a JSON object/],
    ['', /^arguments is empty: send \{\}/],
  ])('that are not a JSON object end at the first closing tag, with an error: %s', (args, message) => {
    const [invalid, rest] = read(`${call('s', 't', args)}rest`)

    expect(invalid).toEqual({ invalid: [expect.stringMatching(message)] })
    expect(rest).toBe('rest')
  })

  test('that are broken do not swallow the next block', () => {
    expect(read(`${call('s', 't', '{"a":"never closed')}\n${call()}`)).toEqual([
      { invalid: [expect.stringContaining('arguments is not valid JSON')] },
      '\n',
      forecast,
    ])
  })
})

describe('a block', () => {
  test('with missing, empty or repeated parameters is invalid, and each is listed', () => {
    expect(read('<use_mcp_tool></use_mcp_tool>')).toEqual([
      { invalid: ['server_name is missing', 'tool_name is missing', 'arguments is missing'] },
    ])
    expect(read('<access_mcp_resource><server_name> </server_name></access_mcp_resource>')).toEqual([
      { invalid: ['server_name is empty', 'uri is missing'] },
    ])
    expect(read(call().replace('<tool_name>', '<tool_name>a</tool_name><tool_name>'))).toEqual([
      { invalid: ['tool_name appears more than once'] },
    ])
  })

  test('that is cut off is incomplete, with what there was of it', () => {
    expect(read('a <use_mcp_tool><server_name>weather</server_name><tool_name>get_')).toEqual([
      'a ',
      { incomplete: { server_name: 'weather' } },
    ])
  })

  test('that is not closed before the next one is invalid, and the next one is read', () => {
    expect(read(`<use_mcp_tool><server_name>a</server_name>${call()}`)).toEqual([
      { invalid: [' is not closed: </use_mcp_tool> is missing before the next block'] },
      forecast,
    ])
  })

  test('can contain other tags, text and comments between its parameters, which are ignored', () => {
    const noisy = call().replace('<tool_name>', 'x <b> <!-- <tool_name>no</tool_name> --> <tool_name>')

    expect(read(noisy)).toEqual([forecast])
  })

  test('has parameters that can contain tags, also those of blocks', () => {
    expect(read(call('<use_mcp_tool>', '<tool_name>x'))).toEqual([{ call: '<tool_name>x', args: { city: 'Recife' } }])
  })

  test('is visible while it arrives, with the parameter that is being written', () => {
    const parser = new XmlParser()

    parser.push('<use_mcp_tool><server_name>weather</server_name><tool_name>get_fore</tool_')

    expect(parser.partial).toEqual({
      tag: 'use_mcp_tool',
      parameters: { server_name: 'weather' },
      current: { name: 'tool_name', text: 'get_fore' },
    })
  })
})

describe('text', () => {
  test.each([
    '<unknown_tool><a>b</a></unknown_tool>',
    '<use_mcp_tool server="a">',
    '< use_mcp_tool >',
    '<use_mcp_tool >',
    '</use_mcp_tool>',
    '</arguments>',
    'a < b and <use_mcp_toolbox>',
    '<!-- never closed',
    '``` not a fence ` still not',
  ])('contains unknown, stray and attributed tags as they are: %s', (text) => {
    expect(read(text)).toEqual([text])
    expect(read(`${text}\n${call()}`)).toEqual([`${text}\n`, forecast])
  })

  test.each([
    ['code fence', `\`\`\`xml\n${call()}\n\`\`\`\n`],
    ['code fence', `  ~~~~\n~~~\n${call()}\n~~~~ \n`],
    ['code fence', `\`\`\`\n${call()}\n`],
    ['inline code', 'Use `<use_mcp_tool></use_mcp_tool>` for that.'],
    ['inline code', '``a ` <use_mcp_tool></use_mcp_tool> ``'],
    ['comment', `<!-- ${call()} -->`],
  ])('that quotes a block in a %s does not run it, and reports it as skipped', (inside, text) => {
    const events = read(text)

    expect(events).toContainEqual({ skipped: inside })
    expect(events.filter((event) => typeof event === 'string').join('')).toBe(text)
  })

  test.each(['an escaped \\` backtick ', 'one ` backtick ', 'two `` and one ` '])(
    'with backticks that are not code does not hide a block: %s',
    (text) => {
      expect(read(`${text}${call()}`)).toEqual([text, forecast])
    },
  )

  test('in a code fence is run if the caller asks for it', () => {
    const text = `\`\`\`xml\n${call()}\n\`\`\`\nthen \`<use_mcp_tool></use_mcp_tool>\``

    expect(read(text, 'run')).toEqual([
      '```xml\n',
      forecast,
      '\n```\nthen `',
      { skipped: 'inline code' },
      '<use_mcp_tool></use_mcp_tool>`',
    ])
  })
})

const samples = [
  `I will look.\n${call()}\nThen \`<use_mcp_tool>\` and\n\`\`\`xml\n${call()}\n\`\`\`\n<!-- ${call()} -->${call('s', 't', '{"a":"</arguments>"}')}`,
  `${call('s', 't', '{"a":"open')}${call()}~~~\n${call()}`,
  'a `` b ` c `d` <use_mcp_tool><server_name>x</server_name>',
]

describe('a message in pieces', () => {
  test.each(samples)('has the same events wherever it is cut once', (text) => {
    const whole = parseXml(text)

    for (let cut = 0; cut <= text.length; cut++) {
      expect(inPieces([text.slice(0, cut), text.slice(cut)])).toEqual(whole)
    }
  })

  test.each(samples)('has the same events character by character', (text) => {
    expect(inPieces([...text])).toEqual(parseXml(text))
  })
})

test('generated messages have the events that a simple parser of whole texts finds, whole and in random pieces', () => {
  const piece = fc.constantFrom(
    ...['<use_mcp_tool>', '</use_mcp_tool>', '<access_mcp_resource>', '</access_mcp_resource>', '<server_name>'],
    ...[
      '</server_name>',
      '<tool_name>',
      '</tool_name>',
      '<arguments>',
      '</arguments>',
      '<uri>',
      '</uri>',
      '<!--',
      '-->',
    ],
    ...[
      '`',
      '``',
      '```',
      '```xml\n',
      '~~~',
      '\n',
      '\n\n',
      ' ',
      '   ',
      '\\',
      '"',
      '{',
      '}',
      '[',
      ']',
      ':',
      ',',
      '{}',
      '<',
    ],
    ...['{"a":1}', '{"a":"</arguments>"}', '{"a":"\\""}', 'a', 'b c', '😀', call(), call('s', 't', '{"b":[]}')],
  )
  const message = fc.array(piece, { maxLength: 24 }).map((pieces) => pieces.join(''))
  const cuts = fc.array(fc.integer({ min: 1, max: 10 }), { minLength: 1, maxLength: 8 })

  fc.assert(
    fc.property(message, cuts, fc.constantFrom('skip' as const, 'run' as const), (text, sizes, fenced) => {
      const expected = referenceParse(text, fenced)
      expect(parseXml(text, { fenced })).toEqual(expected)
      expect(inPieces(cutInto(text, sizes), fenced)).toEqual(expected)
    }),
    { numRuns: process.env.QM_SOAK ? 100_000 : 3000 },
  )
})

function inPieces(pieces: readonly string[], fenced: 'skip' | 'run' = 'skip'): XmlEvent[] {
  const parser = new XmlParser({ fenced })
  return joined([...pieces.flatMap((piece) => parser.push(piece)), ...parser.finish()])
}

function cutInto(text: string, sizes: readonly number[]): string[] {
  const pieces: string[] = []
  for (let at = 0, turn = 0; at < text.length; turn++) {
    const size = sizes[turn % sizes.length] as number
    pieces.push(text.slice(at, at + size))
    at += size
  }
  return pieces
}
