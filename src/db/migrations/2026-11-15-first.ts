import { type Kysely, sql } from 'kysely'
import type { EngineName } from '../engine.ts'

/** Projects, keys, access policies, tools, documents, files and the record of calls. */
export async function up(db: Kysely<unknown>, engine: EngineName): Promise<void> {
  const bytes = engine === 'sqlite' ? sql`blob` : sql`bytea`
  const real = engine === 'sqlite' ? sql`real` : sql`double precision`

  await db.schema
    .createTable('projects')
    .addColumn('id', 'text', (column) => column.primaryKey())
    .addColumn('name', 'text', (column) => column.notNull().unique())
    .addColumn('created_at', 'bigint', (column) => column.notNull())
    .addColumn('updated_at', 'bigint', (column) => column.notNull())
    .execute()

  await db.schema
    .createTable('api_keys')
    .addColumn('id', 'text', (column) => column.primaryKey())
    .addColumn('project_id', 'text', (column) => column.references('projects.id'))
    .addColumn('name', 'text', (column) => column.notNull())
    .addColumn('key_hash', 'text', (column) => column.notNull().unique())
    .addColumn('key_prefix', 'text', (column) => column.notNull())
    .addColumn('access_policy_ids', 'text', (column) => column.notNull())
    .addColumn('rate_limit', 'bigint')
    .addColumn('expires_at', 'bigint')
    .addColumn('last_used_at', 'bigint')
    .addColumn('created_at', 'bigint', (column) => column.notNull())
    .addColumn('updated_at', 'bigint', (column) => column.notNull())
    .execute()

  await db.schema
    .createTable('access_policies')
    .addColumn('id', 'text', (column) => column.primaryKey())
    .addColumn('project_id', 'text', (column) => column.references('projects.id'))
    .addColumn('name', 'text', (column) => column.notNull())
    .addColumn('description', 'text')
    .addColumn('document', 'text', (column) => column.notNull())
    .addColumn('created_at', 'bigint', (column) => column.notNull())
    .addColumn('updated_at', 'bigint', (column) => column.notNull())
    .execute()

  await db.schema
    .createTable('tools')
    .addColumn('id', 'text', (column) => column.primaryKey())
    .addColumn('project_id', 'text', (column) => column.notNull().references('projects.id'))
    .addColumn('name', 'text', (column) => column.notNull())
    .addColumn('type', 'text', (column) => column.notNull())
    .addColumn('description', 'text')
    .addColumn('parameters', 'text')
    .addColumn('execute', 'text')
    .addColumn('actions', 'text')
    .addColumn('preset_parameters', 'text')
    .addColumn('app', 'text')
    .addColumn('level', 'text', (column) => column.notNull())
    .addColumn('auto_approve', 'integer')
    .addColumn('timeout_seconds', real)
    .addColumn('created_at', 'bigint', (column) => column.notNull())
    .addColumn('updated_at', 'bigint', (column) => column.notNull())
    .addUniqueConstraint('tools_name', ['project_id', 'name'])
    .execute()

  await db.schema
    .createTable('documents')
    .addColumn('id', 'text', (column) => column.primaryKey())
    .addColumn('project_id', 'text', (column) => column.notNull().references('projects.id'))
    .addColumn('path', 'text', (column) => column.notNull())
    .addColumn('content', 'text', (column) => column.notNull())
    .addColumn('tags', 'text', (column) => column.notNull())
    .addColumn('size', 'bigint', (column) => column.notNull())
    .addColumn('created_at', 'bigint', (column) => column.notNull())
    .addColumn('updated_at', 'bigint', (column) => column.notNull())
    .addUniqueConstraint('documents_path', ['project_id', 'path'])
    .execute()
  for (const statement of documentSearch[engine]) await sql.raw(statement).execute(db)

  await db.schema
    .createTable('files')
    .addColumn('id', 'text', (column) => column.primaryKey())
    .addColumn('project_id', 'text', (column) => column.notNull().references('projects.id'))
    .addColumn('path', 'text', (column) => column.notNull())
    .addColumn('content_type', 'text', (column) => column.notNull())
    .addColumn('content_id', 'text', (column) => column.notNull())
    .addColumn('tags', 'text', (column) => column.notNull())
    .addColumn('size', 'bigint', (column) => column.notNull())
    .addColumn('sha256', 'text', (column) => column.notNull())
    .addColumn('created_at', 'bigint', (column) => column.notNull())
    .addColumn('updated_at', 'bigint', (column) => column.notNull())
    .addUniqueConstraint('files_path', ['project_id', 'path'])
    .execute()

  await db.schema
    .createTable('file_chunks')
    .addColumn('content_id', 'text', (column) => column.notNull())
    .addColumn('position', 'integer', (column) => column.notNull())
    .addColumn('bytes', bytes, (column) => column.notNull())
    .addPrimaryKeyConstraint('file_chunks_pk', ['content_id', 'position'])
    .execute()

  await db.schema
    .createTable('calls')
    .addColumn('id', 'text', (column) => column.primaryKey())
    .addColumn('project_id', 'text')
    .addColumn('parent_call_id', 'text')
    .addColumn('tool_id', 'text')
    .addColumn('tool', 'text')
    .addColumn('app', 'text')
    .addColumn('action', 'text')
    .addColumn('status', 'text', (column) => column.notNull())
    .addColumn('principal_kind', 'text', (column) => column.notNull())
    .addColumn('principal_id', 'text', (column) => column.notNull())
    .addColumn('principal_name', 'text', (column) => column.notNull())
    .addColumn('surface', 'text', (column) => column.notNull())
    .addColumn('client_name', 'text')
    .addColumn('client_version', 'text')
    .addColumn('request', 'text', (column) => column.notNull())
    .addColumn('request_truncated', 'integer', (column) => column.notNull())
    .addColumn('response', 'text')
    .addColumn('response_truncated', 'integer', (column) => column.notNull())
    .addColumn('error', 'text')
    .addColumn('duration_ms', real)
    .addColumn('created_at', 'bigint', (column) => column.notNull())
    .addColumn('completed_at', 'bigint')
    // Without a rowid, the table is a single tree ordered by id, and so by time. Each call is appended to one tree, not two.
    .$call((table) => (engine === 'sqlite' ? table.modifyEnd(sql`without rowid`) : table))
    .execute()
  // Ids are ordered by time, so this index also serves lists by time.
  await db.schema.createIndex('calls_project').on('calls').columns(['project_id', 'id']).execute()

  await db.schema
    .createTable('idempotency_keys')
    .addColumn('principal_id', 'text', (column) => column.notNull())
    .addColumn('key', 'text', (column) => column.notNull())
    .addColumn('request_hash', 'text', (column) => column.notNull())
    .addColumn('status', 'integer')
    .addColumn('body', 'text')
    .addColumn('created_at', 'bigint', (column) => column.notNull())
    .addPrimaryKeyConstraint('idempotency_keys_pk', ['principal_id', 'key'])
    .execute()

  await db.schema
    .createTable('settings')
    .addColumn('name', 'text', (column) => column.primaryKey())
    .addColumn('value', 'text', (column) => column.notNull())
    .execute()
}

/** The database maintains the search index itself, so that no write can miss it. */
const documentSearch: Record<EngineName, string[]> = {
  sqlite: [
    `create virtual table documents_search using fts5(path, content, content='documents', content_rowid='rowid', tokenize='porter unicode61')`,
    `create trigger documents_added after insert on documents begin
       insert into documents_search(rowid, path, content) values (new.rowid, new.path, new.content);
     end`,
    `create trigger documents_removed after delete on documents begin
       insert into documents_search(documents_search, rowid, path, content) values ('delete', old.rowid, old.path, old.content);
     end`,
    `create trigger documents_changed after update of path, content on documents begin
       insert into documents_search(documents_search, rowid, path, content) values ('delete', old.rowid, old.path, old.content);
       insert into documents_search(rowid, path, content) values (new.rowid, new.path, new.content);
     end`,
  ],
  postgres: [
    // A tsvector is limited to 1 MB. For the rare document that exceeds it, only the beginning is indexed.
    `create function documents_words(path text, content text) returns tsvector language plpgsql immutable as $$
     declare
       places tsvector := setweight(to_tsvector('english', translate(path, '/._-', '    ')), 'A');
     begin
       return places || to_tsvector('english', content);
     exception when program_limit_exceeded then
       return places || to_tsvector('english', left(content, 100000));
     end $$`,
    'alter table documents add column search tsvector generated always as (documents_words(path, content)) stored',
    'create index documents_search on documents using gin (search)',
  ],
}
