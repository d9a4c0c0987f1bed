import type { CredentialNeed } from '../tool-type.ts'
import type { ApiSnapshot } from './operation.ts'

/** The credentials that requests need, one for each security scheme that operations use. The most used comes first. */
export function credentialNeeds(
  { security, operations }: ApiSnapshot,
  configured: Readonly<Record<string, string>>,
): CredentialNeed[] {
  const uses = new Map<string, { count: number; scopes: Set<string> }>()
  for (const { security: requirements } of operations) {
    for (const [name, scopes] of requirements.flatMap((one) => Object.entries(one))) {
      const use = uses.get(name) ?? { count: 0, scopes: new Set() }
      use.count++
      for (const scope of scopes) use.scopes.add(scope)
      uses.set(name, use)
    }
  }
  return Object.entries(security)
    .filter(([name]) => uses.has(name))
    .map(([name, scheme]) => ({
      scheme: name,
      type: scheme.kind,
      in: scheme.in ?? null,
      name: scheme.name ?? null,
      description: scheme.description ?? null,
      authorization_url: scheme.authorization_url ?? null,
      token_url: scheme.token_url ?? null,
      discovery_url: scheme.discovery_url ?? null,
      scopes: [...(uses.get(name)?.scopes ?? [])],
      actions: uses.get(name)?.count ?? 0,
      configured: Object.hasOwn(configured, name),
    }))
    .sort((a, b) => b.actions - a.actions)
}
