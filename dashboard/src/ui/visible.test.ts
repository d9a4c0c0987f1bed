import { expect, test } from 'vitest'
import { visible } from './visible.ts'

test.each([
  ['a\u200bb', 'a⟨U+200B⟩b'],
  ['safe\u202etxt', 'safe⟨U+202E⟩txt'],
  ['hi\u{e0041}\u{e0042}', 'hi⟨U+E0041⟩⟨U+E0042⟩'],
  ['x\ufe00\u{e0101}', 'x⟨U+FE00⟩⟨U+E0101⟩'],
  ['a\u200d\u200db', 'a⟨U+200D⟩⟨U+200D⟩b'],
  ['\ue000', '⟨U+E000⟩'],
])('invisible characters are spelled out: %j', (text, shown) => {
  expect(visible(text)).toBe(shown)
})

test.each(['plain\n\ttext', 'naïve — ünïcode', '👩\u200d💻 ❤\ufe0f', 'می\u200cخواهم', '日本語'])(
  'ordinary text stays as it is: %j',
  (text) => {
    expect(visible(text)).toBe(text)
  },
)
