import type { Condition, Statement } from '../model/access-policy.ts'
import type { Grant, Principal } from '../model/principal.ts'

/** The object of a request, written `qm:<project>:<kind>:<id>`. */
export interface Resource {
  /** Null for resources outside any project, such as a project itself or a global access policy. */
  readonly projectId: string | null
  readonly kind: string
  /** `*` for the collection, for example when creating. */
  readonly id: string
  /** Policies can match documents and files by path as well as by id. */
  readonly path?: string
  readonly tags?: Readonly<Record<string, string>>
}

export const resourceName = ({ projectId, kind, id }: Resource): string => `qm:${projectId ?? '*'}:${kind}:${id}`

export type Decision =
  | { readonly allowed: true; readonly by: string }
  | { readonly allowed: false; readonly layer: 'project' | 'access policy' | 'agent boundary'; readonly by?: string }

/** Default deny; an explicit deny wins; a principal bound to a project has no access outside it. */
export function evaluate(principal: Principal, permission: string, resource: Resource): Decision {
  if (outside(principal, resource)) return { allowed: false, layer: 'project' }
  const { allowedBy, deniedBy } = judge(principal.grants, permission, resource)
  if (allowedBy === undefined || deniedBy !== undefined) {
    return { allowed: false, layer: 'access policy', ...(deniedBy !== undefined && { by: deniedBy }) }
  }
  for (const boundary of principal.boundaries ?? []) {
    const within = judge(boundary, permission, resource)
    if (within.allowedBy === undefined || within.deniedBy !== undefined) {
      return { allowed: false, layer: 'agent boundary' }
    }
  }
  return { allowed: true, by: allowedBy }
}

/** Whether an access policy or a boundary denies it explicitly, or it is outside the principal's project. */
export const isDenied = (principal: Principal, permission: string, resource: Resource): boolean =>
  outside(principal, resource) ||
  [principal.grants, ...(principal.boundaries ?? [])].some(
    (grants) => judge(grants, permission, resource).deniedBy !== undefined,
  )

function judge(
  grants: readonly Grant[],
  permission: string,
  resource: Resource,
): { allowedBy: string | undefined; deniedBy?: string } {
  let allowedBy: string | undefined
  for (const { policyId, statement, patterns } of statementsOn(grants, permission)) {
    if (!matchesResource(patterns, resource) || !matchesCondition(statement.condition, resource)) continue
    if (statement.effect === 'Deny') return { allowedBy, deniedBy: policyId }
    allowedBy ??= policyId
  }
  return { allowedBy }
}

/**
 * Which resources of a kind a principal can see: everything in its project filter (`all`), nothing (`none`), or a subset
 * that needs a check per record (`some`). The first two are the common cases, and need no check per record.
 */
export function visibility(principal: Principal, permission: string, kind: string): 'all' | 'none' | 'some' {
  const statements = statementsAbout(principal, permission, kind)
  if (!statements.some(({ statement }) => statement.effect === 'Allow')) return 'none'
  const denies = statements.some(({ statement }) => statement.effect === 'Deny')
  const whole = statements.some(
    ({ statement }) =>
      statement.effect === 'Allow' &&
      !statement.condition &&
      statement.resource.some((pattern) => coversKind(pattern, principal.projectId)),
  )
  return whole && !denies && !principal.boundaries?.length ? 'all' : 'some'
}

/** Binds the principal to a project if its policies allow the permission for this kind in that project only. */
export function narrowed(principal: Principal, permission: string, kind: string): Principal {
  if (principal.projectId !== null) return principal
  const projects = statementsAbout(principal, permission, kind).flatMap(({ statement: { effect, resource } }) =>
    effect === 'Allow' ? resource.map((pattern) => (pattern === '*' ? '*' : partsOf(pattern).project)) : [],
  )
  const [only = '*', ...others] = new Set(projects)
  return only === '*' || others.length > 0 ? principal : { ...principal, projectId: only }
}

const statementsAbout = (principal: Principal, permission: string, kind: string) =>
  statementsOn(principal.grants, permission).filter(({ statement }) =>
    statement.resource.some((pattern) => pattern === '*' || ['*', kind, undefined].includes(pattern.split(':')[2])),
  )

/** Whether the principal may have this permission on some resource. */
export function mayEver(principal: Principal, permission: string): boolean {
  const statements = statementsOn(principal.grants, permission).map(({ statement }) => statement)
  const shut = statements.some(
    ({ effect, resource, condition }) => effect === 'Deny' && !condition && resource.includes('*'),
  )
  return !shut && statements.some(({ effect }) => effect === 'Allow')
}

/** Whether the principal has this permission on everything in a project, without exception. */
export function mayAlways(principal: Principal, permission: string, projectId: string): boolean {
  const covers = (grants: readonly Grant[]) => {
    const statements = statementsOn(grants, permission).map(({ statement }) => statement)
    const excepts = statements.some(
      ({ effect, resource }) => effect === 'Deny' && resource.some((pattern) => touchesProject(pattern, projectId)),
    )
    const allows = statements.some(
      ({ effect, resource, condition }) =>
        effect === 'Allow' && !condition && resource.some((pattern) => coversKind(pattern, projectId)),
    )
    return allows && !excepts
  }
  const isOutside = principal.projectId !== null && principal.projectId !== projectId
  return !isOutside && [principal.grants, ...(principal.boundaries ?? [])].every(covers)
}

const touchesProject = (pattern: string, projectId: string): boolean =>
  pattern === '*' || ['*', projectId].includes(partsOf(pattern).project)

const outside = (principal: Principal, resource: Resource) =>
  principal.projectId !== null && principal.projectId !== resource.projectId

interface PermissionStatement {
  readonly policyId: string
  readonly statement: Statement
  readonly patterns: readonly ResourcePattern[]
}

/** Grants are immutable: when policies change, the principal gets a new array. */
const byGrants = new WeakMap<readonly Grant[], Map<string, readonly PermissionStatement[]>>()

/** The statements about a permission, cached per set of grants: calls check the same few permissions repeatedly. */
function statementsOn(grants: readonly Grant[], permission: string): readonly PermissionStatement[] {
  let byPermission = byGrants.get(grants)
  if (!byPermission) {
    byPermission = new Map()
    byGrants.set(grants, byPermission)
  }
  let statements = byPermission.get(permission)
  if (!statements) {
    statements = findStatements(grants, permission)
    byPermission.set(permission, statements)
  }
  return statements
}

function findStatements(grants: readonly Grant[], permission: string): PermissionStatement[] {
  const module = permission.slice(0, permission.indexOf(':'))
  const matches = (pattern: string) => pattern === '*' || pattern === permission || pattern === `${module}:*`
  return grants.flatMap(({ policyId, statements }) =>
    statements
      .filter(({ action }) => action.some(matches))
      .map((statement) => ({ policyId, statement, patterns: statement.resource.map(partsOf) })),
  )
}

interface ResourcePattern {
  readonly project: string
  readonly kind: string
  readonly id: string
}

/** Parses `qm:<project>:<kind>:<id>`. Missing parts are `*`. An id may contain colons. */
function partsOf(pattern: string): ResourcePattern {
  const [, project = '*', kind = '*', ...rest] = pattern.split(':')
  return { project, kind, id: rest.length > 0 ? rest.join(':') : '*' }
}

const coversKind = (pattern: string, projectId: string | null): boolean => {
  if (pattern === '*') return true
  const { project, id } = partsOf(pattern)
  return id === '*' && (project === '*' || project === projectId)
}

const matchesResource = (patterns: readonly ResourcePattern[], resource: Resource): boolean =>
  patterns.some(
    ({ project, kind, id }) =>
      (project === '*' || project === resource.projectId) &&
      (kind === '*' || kind === resource.kind) &&
      (id === '*' || id === resource.id || matchesPath(id, resource.path)),
  )

/** `/reports/*` matches everything below `/reports/`. */
const matchesPath = (pattern: string, path: string | undefined): boolean =>
  path !== undefined && (pattern === path || (pattern.endsWith('/*') && path.startsWith(pattern.slice(0, -1))))

function matchesCondition(condition: Condition | undefined, resource: Resource): boolean {
  if (!condition) return true
  const { StringEquals = {}, StringNotEquals = {}, StringLike = {} } = condition
  const every = (
    expected: Record<string, string | string[]>,
    test: (actual: string | undefined, values: string[]) => boolean,
  ) => Object.entries(expected).every(([key, values]) => test(factOf(resource, key), [values].flat()))
  return (
    every(StringEquals, (actual, values) => actual !== undefined && values.includes(actual)) &&
    every(StringNotEquals, (actual, values) => actual === undefined || !values.includes(actual)) &&
    every(StringLike, (actual, values) => actual !== undefined && values.some((value) => like(value, actual)))
  )
}

/** `qm:ResourceType` or `qm:ResourceTag/<key>`. */
function factOf(resource: Resource, key: string): string | undefined {
  const name = key.slice(key.indexOf(':') + 1)
  if (name === 'ResourceType') return resource.kind
  const tag = name.slice('ResourceTag/'.length)
  return resource.tags && Object.hasOwn(resource.tags, tag) ? resource.tags[tag] : undefined
}

/** `*` matches any text, `?` one character. Backtracks only to the last `*`. */
export function like(pattern: string, text: string): boolean {
  let p = 0
  let t = 0
  let star = -1
  let mark = 0
  while (t < text.length) {
    if (p < pattern.length && pattern[p] === '*') {
      star = p++
      mark = t
    } else if (p < pattern.length && (pattern[p] === '?' || pattern[p] === text[t])) {
      p++
      t++
    } else if (star >= 0) {
      p = star + 1
      t = ++mark
    } else return false
  }
  while (pattern[p] === '*') p++
  return p === pattern.length
}
