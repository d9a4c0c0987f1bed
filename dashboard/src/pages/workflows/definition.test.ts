import { expect, test } from 'vitest'
import { compensationOf, marksOf, sourcesOf } from './definition.ts'

test('a step uses the steps that its expressions name', () => {
  const step = {
    id: 'c',
    call: 'x:y',
    input: { a: '${{ steps.a.output.id }}', b: '${{ steps["b"].output }}', c: 'steps' },
  }

  expect(sourcesOf(step)).toEqual(['a', 'b'])
})

test('the marks of a step say what is special about it', () => {
  const step = {
    ...{ id: 'a', if: true, for_each: [], retry: { attempts: 2 }, on_error: 'continue' },
    wait_for: { approval: true, event: 'paid' },
  }

  expect(marksOf(step)).toEqual(['if', 'for each', 'approval', 'event paid', '2 retries', 'may fail'])
  expect(compensationOf({ id: 'a', on_error: { call: 'x:undo' } })).toBe('x:undo')
})
