import { type Kysely, sql } from 'kysely'

/** Sessions of agents, their events, and what guides a turn. */
export async function up(db: Kysely<unknown>): Promise<void> {
  await db.schema
    .createTable('guides')
    .addColumn('id', 'text', (column) => column.primaryKey())
    .addColumn('project_id', 'text', (column) => column.notNull())
    .addColumn('content', 'text', (column) => column.notNull())
    .addColumn('created_at', 'bigint', (column) => column.notNull())
    .execute()

  await db.schema.alterTable('agents').addColumn('guide_id', 'text').execute()
  await db.schema.alterTable('agents').addColumn('manifest', 'text').execute()
  await db.schema.alterTable('generations').addColumn('session_id', 'text').execute()
  await db.schema
    .alterTable('generations')
    .addColumn('replied', 'integer', (column) => column.notNull().defaultTo(0))
    .execute()
  await db.schema.alterTable('generation_steps').addColumn('guide', 'text').execute()
  await sql`create index generations_session on generations (session_id, id) where session_id is not null`.execute(db)

  await db.schema
    .createTable('sessions')
    .addColumn('id', 'text', (column) => column.primaryKey())
    .addColumn('project_id', 'text', (column) => column.notNull())
    .addColumn('agent_id', 'text', (column) => column.notNull())
    .addColumn('path', 'text', (column) => column.notNull())
    .addColumn('end_user_id', 'text')
    .addColumn('title', 'text')
    .addColumn('principal_id', 'text', (column) => column.notNull())
    .addColumn('principal_name', 'text', (column) => column.notNull())
    .addColumn('next_offset', 'bigint', (column) => column.notNull())
    .addColumn('wanted', 'bigint')
    .addColumn('turn_id', 'text')
    .addColumn('turn_offset', 'bigint')
    .addColumn('created_at', 'bigint', (column) => column.notNull())
    .addColumn('updated_at', 'bigint', (column) => column.notNull())
    .addColumn('run', 'text')
    .addColumn('metadata', 'text', (column) => column.notNull())
    .addColumn('state', 'text', (column) => column.notNull())
    .execute()
  await db.schema.createIndex('sessions_project').on('sessions').columns(['project_id', 'id']).execute()
  await db.schema.createIndex('sessions_agent').on('sessions').columns(['agent_id', 'end_user_id', 'id']).execute()
  await sql`create index sessions_wanted on sessions (id) where wanted is not null`.execute(db)

  await db.schema
    .createTable('session_events')
    .addColumn('session_id', 'text', (column) => column.notNull())
    .addColumn('position', 'bigint', (column) => column.notNull())
    .addColumn('id', 'text', (column) => column.notNull())
    .addColumn('kind', 'text', (column) => column.notNull())
    .addColumn('source', 'text', (column) => column.notNull())
    .addColumn('trace_id', 'text')
    .addColumn('generation_id', 'text')
    .addColumn('event_key', 'text')
    .addColumn('created_at', 'bigint', (column) => column.notNull())
    .addColumn('data', 'text', (column) => column.notNull())
    .addPrimaryKeyConstraint('session_events_key', ['session_id', 'position'])
    .execute()
  await sql`create unique index session_events_once on session_events (session_id, event_key) where event_key is not null`.execute(
    db,
  )

  await db.schema
    .createTable('guide_answers')
    .addColumn('generation_id', 'text', (column) => column.notNull())
    .addColumn('hash', 'text', (column) => column.notNull())
    .addColumn('step', 'integer', (column) => column.notNull())
    .addColumn('kind', 'text', (column) => column.notNull())
    .addColumn('model', 'text')
    .addColumn('input_tokens', 'bigint', (column) => column.notNull())
    .addColumn('output_tokens', 'bigint', (column) => column.notNull())
    .addColumn('cost', 'double precision')
    .addColumn('milliseconds', 'integer', (column) => column.notNull())
    .addColumn('answer', 'text', (column) => column.notNull())
    .addPrimaryKeyConstraint('guide_answers_key', ['generation_id', 'hash'])
    .execute()
}
