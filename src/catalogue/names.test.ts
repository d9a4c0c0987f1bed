import fc from 'fast-check'
import { expect, test } from 'vitest'
import type { Action } from '../model/tool.ts'
import { agentNames, findByName } from './names.ts'

const action = (namespace: string, name: string) => ({ id: `${namespace}:${name}`, namespace, name }) as Action
const many = (namespace: string, name: string) => ({ action: action(namespace, name), many: true })

test('the only action of a tool has the tool’s name, and one of several is prefixed with it', () => {
  const names = agentNames([
    { action: action('tools', 'search'), many: false },
    many('github', 'search'),
    many('jira', 'search'),
  ])

  expect([...names.keys()].sort()).toEqual(['github_search', 'jira_search', 'search'])
})

test('actions with the same name are prefixed with their app, and remaining duplicates get different names', () => {
  const single = (app: string, name: string) => ({ action: { ...action(app, name), app }, many: false, toolId: app })
  const alike = [single('hubspot', 'search'), single('salesforce', 'search'), many('hubspot', 'search')]

  const names = agentNames(alike)
  const backwards = agentNames([...alike].reverse())

  expect([...names.keys()].sort()).toEqual([...backwards.keys()].sort())
  expect(names.size).toBe(3)
  expect([...names.keys()]).toEqual(expect.arrayContaining(['hubspot_search', 'salesforce_search']))
})

test('names are valid for every model provider, unique, and independent of the order of the actions', () => {
  const part = fc.string({ unit: fc.constantFrom('a', 'b', '_', '-', '.', 'é'), minLength: 1, maxLength: 70 })
  const actions = fc.uniqueArray(fc.tuple(part, part), { selector: (pair) => pair.join(':'), maxLength: 8 })

  fc.assert(
    fc.property(actions, (pairs) => {
      const offered = pairs.map(([namespace, name]) => many(namespace, name))
      const names = agentNames(offered)
      const backwards = agentNames([...offered].reverse())
      expect(names.size).toBe(pairs.length)
      expect([...names].map(([name, { id }]) => [name, id])).toEqual([...backwards].map(([name, { id }]) => [name, id]))
      for (const name of names.keys()) expect(name).toMatch(/^[A-Za-z0-9_-]{1,64}$/)
    }),
  )
})

test('a name is found with - and _ swapped, and several matches are all returned', () => {
  const names = new Map([
    ['get-document', 1],
    ['get_file', 2],
    ['a-b', 3],
    ['a_b', 4],
  ])

  expect(findByName(names, 'get_document')).toEqual([1])
  expect(findByName(names, 'a_b')).toEqual([4])
  expect(
    findByName(
      new Map([
        ['a-b_c', 1],
        ['a_b-c', 2],
      ]),
      'a_b_c',
    ),
  ).toEqual([1, 2])
  expect(findByName(names, 'other')).toEqual([])
})
