import { expect, test } from 'vitest'
import { referencedSecrets, withSecrets } from './secret-references.ts'

test('references are found at every depth of a config', () => {
  const config = {
    url: 'https://example.com/?key=${{ secrets.A }}',
    headers: { authorization: 'Bearer ${{secrets.B}}', plain: 'x' },
    args: ['--token', '${{  secrets.A  }}', '${{ other.C }}', '${{ secrets.1D }}'],
    count: 3,
  }

  expect([...referencedSecrets(config)]).toEqual(['A', 'B'])
})

test('references are replaced by values, percent-encoded within URLs; unknown names stay', () => {
  const secrets = new Map([
    ['A', 'a&b={x}'],
    ['B', '$& $1'],
  ])
  const config = {
    url: 'https://example.com/?key=${{ secrets.A }}',
    headers: { authorization: 'Bearer ${{ secrets.B }}', both: '${{ secrets.A }}${{ secrets.Z }}' },
  }

  expect(withSecrets(config, secrets)).toEqual({
    url: 'https://example.com/?key=a%26b%3D%7Bx%7D',
    headers: { authorization: 'Bearer $& $1', both: 'a&b={x}${{ secrets.Z }}' },
  })
})
