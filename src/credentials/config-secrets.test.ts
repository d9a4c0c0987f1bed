import fc from 'fast-check'
import { expect, test } from 'vitest'
import { hideSecrets, maskedPaths, restoreSecrets, revealSecrets, secretTexts } from './config-secrets.ts'

const config = {
  url: 'https://ana:pa%20ss@api.example.com/v1?key=abc&units=metric&token=a%2Fb%3Dc&city={city}',
  headers: { authorization: 'Bearer correct-horse', accept: 'text/plain', other: 'Bearer ${{ secrets.TOKEN }}' },
  args: ['--token=abc', '--name', 'abc', 'abcd'],
  parameters: { description: 'Never send correct-horse or abc' },
}
const secrets = ['pa ss', 'abc', 'a/b=c', 'Bearer correct-horse', 'correct-horse', 'Bearer ${{ secrets.TOKEN }}']

test('secrets are masked wherever they are, short ones only as a whole value, and references stay visible', () => {
  expect(hideSecrets(config, secrets).config).toEqual({
    url: 'https://ana:[hidden]@api.example.com/v1?key=[hidden]&units=metric&token=[hidden]&city={city}',
    headers: { authorization: '[hidden]', accept: 'text/plain', other: 'Bearer ${{ secrets.TOKEN }}' },
    args: ['--token=[hidden]', '--name', '[hidden]', 'abcd'],
    parameters: { description: 'Never send [hidden] or abc' },
  })
})

test('masked secrets are revealed exactly as they were', () => {
  const text = fc.string({ unit: fc.constantFrom('a', 'b', '[hidden]', '=', '&', '?', 'https://', ':', '@', '%20') })
  fc.assert(
    fc.property(fc.array(text), fc.dictionary(text, text), fc.array(text), (list, record, hidden) => {
      const before = { list, record }

      expect(revealSecrets(hideSecrets(before, hidden))).toEqual(before)
    }),
  )
})

test('a mask that is sent back stands for the secret in the same place', () => {
  const hidden = hideSecrets(config, secrets)
  const sent = structuredClone(hidden.config) as typeof config
  sent.url = sent.url.replace('metric', 'imperial')
  sent.headers.accept = 'text/html'

  const { config: next, restored, unknown } = restoreSecrets(sent, hidden)

  expect(next).toEqual({
    ...config,
    url: config.url.replace('metric', 'imperial'),
    headers: { ...config.headers, accept: 'text/html' },
  })
  expect(restored).toContain('headers.authorization')
  expect(unknown).toEqual([])
})

test('a mask in another place stands for nothing', () => {
  const hidden = hideSecrets(config, secrets)
  const sent = {
    url: 'https://api.example.com/v1?token=[hidden]&key=[hidden]',
    headers: { authorization: 'Basic [hidden]', 'x-key': '[hidden]' },
  }

  const { config: next, restored, unknown } = restoreSecrets(sent, hidden)

  expect(next).toEqual(sent)
  expect(restored).toEqual([])
  expect(unknown).toEqual(['url', 'headers.authorization'])
  expect(maskedPaths(sent, ['[hidden]'])).toEqual(['url', 'headers.authorization', 'headers.x-key'])
})

test('the texts that are shown differently are the secret ones', () => {
  const { config: shown, texts } = hideSecrets(config, secrets)

  expect(secretTexts(shown, config)).toEqual(texts)
})
