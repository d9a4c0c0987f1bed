import { expect, test } from 'vitest'
import { destinations } from './nav.ts'
import { router } from './router.tsx'

const sectionOf = (path: string) => path.split('/')[1] ?? ''

test('every entry of the navigation has a page, and every page is in a section of the navigation', () => {
  const pages = new Set(Object.keys(router.routesByPath).map(sectionOf))
  const sections = new Set(destinations.flatMap(({ to, within = [] }) => [to, ...within]).map(sectionOf))

  expect([...sections].sort()).toEqual([...pages].sort())
})
