import { z } from 'zod'
import { Text, Timestamp } from './page.ts'

/** Values below this length cannot be redacted in outputs without breaking ordinary text. */
export const shortestSecret = 8

export const SecretFields = {
  name: z
    .string()
    .max(100)
    .regex(/^[A-Za-z_][A-Za-z0-9_]*$/, 'must consist of letters, digits and underscores, and not start with a digit')
    .describe('Reference the secret by this name: ${{ secrets.NAME }}'),
  description: Text.max(2000).nullable(),
}

export const SecretValue = Text.min(
  shortestSecret,
  `must have at least ${shortestSecret} characters: shorter values cannot be redacted in outputs`,
)
  .max(65_536)
  .describe('The value. It is encrypted, and no operation returns it. A line break at its end is removed')

export const SecretEnv = z
  .string()
  .min(1)
  .max(200)
  .describe('Environment variable of the platform that has the value. It must be listed in QM_SECRET_VARIABLES')

/** A name without a path. Names that start with a dot are excluded, so "." and ".." are too. */
export const SecretFile = z
  .string()
  .max(200)
  .regex(/^[A-Za-z0-9_-][A-Za-z0-9._-]*$/, 'must be the name of a file in the folder QM_SECRET_FILES, without a path')
  .describe('Name of a file in the folder QM_SECRET_FILES that has the value. It is read again when it changes')

/** A credential of a project that its tools reference by name. Its value is never shown. */
export const Secret = z.object({
  id: z.string(),
  project_id: z.string(),
  ...SecretFields,
  source: z
    .enum(['stored', 'env', 'file'])
    .describe('Where the value is: in the database, in the environment, or in a file'),
  env: z.string().nullable().describe('The environment variable that has the value, if source is env'),
  file: z.string().nullable().describe('The file that has the value, if source is file'),
  rotated_at: Timestamp.describe('When the value was last set'),
  created_at: Timestamp,
  updated_at: Timestamp,
})
export type Secret = z.infer<typeof Secret>
