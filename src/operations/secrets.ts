import { z } from 'zod'
import { referencedSecrets } from '../credentials/secret-references.ts'
import { PlatformError } from '../model/errors.ts'
import { newId } from '../model/ids.ts'
import { Id, Paging, pageOf } from '../model/page.ts'
import { Secret, SecretEnv, SecretFields, SecretFile, SecretValue, shortestSecret } from '../model/secret.ts'
import { sealedAt } from '../store/sealed.ts'
import type { SecretSource } from '../store/secrets.ts'
import type { Store } from '../store/store.ts'
import { acts, type Context, creates, lists, type RecordKind } from './operation.ts'

export const secret: RecordKind<Secret> = {
  name: 'secret',
  find: (id, store) => store.secrets.find(id),
  resource: ({ id, project_id }) => ({ projectId: project_id ?? null, kind: 'secret', id }),
}

const { name, description } = SecretFields
const sources = { value: SecretValue.optional(), env: SecretEnv.optional(), file: SecretFile.optional() }

export const createSecret = creates({
  name: 'create-secret',
  permission: 'secrets:CreateSecret',
  route: 'POST /secrets',
  summary: 'Create a secret that tools reference as ${{ secrets.NAME }}',
  example: { name: 'CRM_TOKEN', value: 'crm-live-0123456789' },
  secretFields: ['value'],
  kind: 'secret',
  input: z.strictObject({ project_id: Id.optional(), name, description: description.optional(), ...sources }),
  output: Secret,
  async run({ value, env, file, ...input }, context) {
    const id = newId('sec')
    const source = await sourceOf({ value, env, file }, id, context)
    if (!source) throw invalid('value', 'is missing: send value, env or file')
    const draft = { name: input.name, description: input.description ?? null, ...source }
    return context.store.secrets.create(context.projectId, id, draft)
  },
})

export const listSecrets = lists({
  name: 'list-secrets',
  permission: 'secrets:ListSecrets',
  route: 'GET /secrets',
  summary: 'List secrets, without their values',
  of: secret,
  input: z.strictObject({ project_id: Id.optional(), ...Paging }),
  output: pageOf(Secret),
  run: (input, { store, visible }) => store.secrets.list(input, visible),
})

export const getSecret = acts({
  name: 'get-secret',
  permission: 'secrets:GetSecret',
  route: 'GET /secrets/{secret_id}',
  summary: 'Get a secret, without its value',
  on: secret,
  input: z.strictObject({ id: Id }),
  output: Secret,
  run: async (_, { target }) => target,
})

export const updateSecret = acts({
  name: 'update-secret',
  permission: 'secrets:UpdateSecret',
  route: 'PATCH /secrets/{secret_id}',
  summary: 'Rotate or describe a secret; the next call of a tool uses the new value',
  example: { value: 'crm-live-9876543210' },
  secretFields: ['value'],
  on: secret,
  input: z.strictObject({ id: Id, description: description.optional(), ...sources }),
  output: Secret,
  async run({ id, value, env, file, description }, context) {
    const source = await sourceOf({ value, env, file }, id, context)
    const change = { ...source, ...(description !== undefined && { description }) }
    return (await context.store.secrets.update(id, change)) ?? context.target
  },
})

export const deleteSecret = acts({
  name: 'delete-secret',
  permission: 'secrets:DeleteSecret',
  route: 'DELETE /secrets/{secret_id}',
  summary: 'Delete a secret',
  status: 204,
  on: secret,
  input: z.strictObject({
    id: Id,
    force: z.boolean().optional().describe('Delete it even if tools reference it; their calls then fail'),
  }),
  output: z.null(),
  async run({ force }, { store, target }) {
    const dependents = force ? [] : await dependentsOf(target, store)
    if (dependents.length > 0) {
      throw new PlatformError('HAS_DEPENDENTS', { kind: 'secret', id: target.name, dependents, force: 'force=true' })
    }
    await store.secrets.remove(target)
    return null
  },
})

async function dependentsOf({ project_id, name }: Secret, store: Store): Promise<string[]> {
  const candidates = await store.tools.containing(project_id, `secrets.${name}`)
  return candidates.flatMap((tool) => (referencedSecrets(tool.config).has(name) ? [`the tool "${tool.name}"`] : []))
}

interface Sent {
  readonly value?: string | undefined
  readonly env?: string | undefined
  readonly file?: string | undefined
}

/** Encrypts the value, or checks the variable or file. Undefined if none was sent. */
async function sourceOf({ value, env, file }: Sent, id: string, context: Context): Promise<SecretSource | undefined> {
  const [first, second] = Object.entries({ value, env, file }).flatMap(([name, sent]) =>
    sent === undefined ? [] : name,
  )
  if (first === undefined) return undefined
  if (second !== undefined) throw invalid(second, `cannot be combined with ${first}: send one of them`)
  if (value !== undefined) return { value: await sealed(value, id, context), env: null, file: null }
  // The environment and the files belong to the operator, and all projects share them.
  if (context.principal.projectId !== null) throw invalid(first, 'is for keys that are not bound to a project')
  if (env !== undefined && !context.secretSources.variables.includes(env)) {
    throw invalid('env', `is not listed in QM_SECRET_VARIABLES: an operator must add "${env}"`)
  }
  if (file !== undefined && !context.secretSources.hasFiles) {
    throw invalid('file', 'cannot be used: an operator must set QM_SECRET_FILES to the folder of the file')
  }
  return { value: null, env: env ?? null, file: file ?? null }
}

/** A line break at the end comes from the file or program that the value was read from. */
async function sealed(value: string, id: string, { vault }: Context): Promise<string> {
  const whole = value.replace(/\r?\n$/, '')
  if (whole.length < shortestSecret) throw invalid('value', `must have at least ${shortestSecret} characters`)
  return vault.seal(whole, sealedAt.secret(id))
}

const invalid = (path: string, message: string) =>
  new PlatformError('VALIDATION_FAILED', { errors: [{ path, message }] })
