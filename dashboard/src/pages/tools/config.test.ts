import { expect, test } from 'vitest'
import type { Schema } from '../../schema-form/schema.ts'
import { cleaned, isPairs, startConfig, variantOf } from './config.ts'

const schema: Schema = {
  type: 'object',
  properties: {
    request: {
      type: 'object',
      properties: {
        url: { type: 'string' },
        method: { enum: ['GET', 'POST'], default: 'POST', 'x-form': { initial: 'GET' } },
        folder: { type: 'string' },
        headers: { type: 'object', additionalProperties: { type: 'string' } },
      },
      required: ['url'],
    },
    volume: { type: 'number', default: 3 },
    note: { type: 'string' },
  },
  required: ['request'],
}

test('the form of a new tool is prefilled with hints, then defaults, then required fields', () => {
  expect(startConfig(schema)).toEqual({ request: { url: '', method: 'GET' }, volume: 3 })
})

test('text is sent without surrounding spaces, and empty optional fields are not sent', () => {
  const typed = { request: { url: ' http://a ', folder: ' ', headers: { a: ' b ' } }, note: '', unknown: ' x ' }

  expect(cleaned(schema, typed)).toEqual({ request: { url: 'http://a', headers: { a: ' b ' } }, unknown: ' x ' })
})

test('the group of fields that has a value is shown, otherwise the first group', () => {
  const groups = [
    { title: 'address', fields: ['url'] },
    { title: 'program', fields: ['command', 'args'] },
  ]

  expect(variantOf(groups, { args: [] })?.title).toBe('program')
  expect(variantOf(groups, {})?.title).toBe('address')
})

test('an object with text values is edited as a list of names and values', () => {
  expect(isPairs({ type: 'object', additionalProperties: { type: 'string' } })).toBe(true)
  expect(isPairs({ type: 'object', properties: {}, additionalProperties: { type: 'string' } })).toBe(false)
  expect(isPairs({ type: 'object' })).toBe(false)
})
