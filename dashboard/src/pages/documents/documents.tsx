import { keepPreviousData, useQuery } from '@tanstack/react-query'
import { Link, useNavigate, useSearch } from '@tanstack/react-router'
import { useDeferredValue, useState } from 'react'
import { ask, type DocumentMatch, type DocumentSummary, qm } from '../../api.ts'
import { plural } from '../../format.ts'
import { useProjectId } from '../../project.ts'
import { useAll } from '../../queries.ts'
import { buttonClass } from '../../ui/button.tsx'
import { Icon } from '../../ui/icon.tsx'
import { changed } from '../../ui/listing.tsx'
import { Answered, Empty } from '../../ui/notice.tsx'
import { PageHead, Panel } from '../../ui/panel.tsx'
import { type Column, rowLink, Table } from '../../ui/table.tsx'
import { Tabs } from '../../ui/tabs.tsx'
import { sizeColumn, tagsColumn } from './columns.tsx'
import { Files } from './files.tsx'

export function Documents() {
  const { tab = 'documents' } = useSearch({ from: '/documents' })
  const navigate = useNavigate({ from: '/documents' })
  return (
    <>
      <PageHead title="Documents">
        Text documents and files that tools and agents can read and write through platform tools.
      </PageHead>
      <Tabs
        label="Documents"
        value={tab}
        onChange={(next) => navigate({ search: { tab: next === 'documents' ? undefined : next }, replace: true })}
        tabs={[
          { id: 'documents', label: 'Documents', content: () => <DocumentList /> },
          { id: 'files', label: 'Files', content: () => <Files /> },
        ]}
      />
    </>
  )
}

function DocumentList() {
  const documents = useAll('documents', (query) => qm.documents.listDocuments({ query }))
  const [text, setText] = useState('')
  const query = useDeferredValue(text.trim())
  const add = (
    <Link to="/documents/$documentId" params={{ documentId: 'new' }} className={buttonClass('main')}>
      <Icon name="plus" />
      New document
    </Link>
  )
  return (
    <Answered query={documents}>
      {(all) =>
        all.length === 0 ? (
          <Empty title="No documents yet" action={add}>
            Keep handbooks, policies and notes here. Agents search them with the platform tool{' '}
            <code className="font-mono">search-documents</code>.
          </Empty>
        ) : (
          <>
            <div className="mb-3 flex flex-wrap justify-between gap-2">
              <input
                type="search"
                aria-label="Search documents"
                placeholder="Search the text"
                className="control max-w-sm"
                value={text}
                onChange={(event) => setText(event.target.value)}
              />
              {add}
            </div>
            {query === '' ? (
              <Panel flush>
                <Table label="Documents" items={all} columns={columns} />
              </Panel>
            ) : (
              <Matches query={query} />
            )}
          </>
        )
      }
    </Answered>
  )
}

const nameColumn: Column<DocumentSummary> = {
  name: 'Path',
  cell: ({ id, path }) => (
    <Link to="/documents/$documentId" params={{ documentId: id }} className={`${rowLink} font-mono break-all`}>
      {path}
    </Link>
  ),
}

const columns: Column<DocumentSummary>[] = [nameColumn, tagsColumn, sizeColumn, changed as Column<DocumentSummary>]

/** Results of the platform's search, as an agent would get them. */
function Matches({ query }: { query: string }) {
  const projectId = useProjectId()
  const found = useQuery({
    queryKey: ['documents', 'search', projectId, query],
    placeholderData: keepPreviousData,
    queryFn: () =>
      ask(qm.documents.searchDocuments({ body: { query, limit: 50, ...(projectId && { project_id: projectId }) } })),
  })
  return (
    <Answered query={found}>
      {({ data }) =>
        data.length === 0 ? (
          <Empty title="No documents found">Try fewer or other words.</Empty>
        ) : (
          <Panel title={plural(data.length, 'match', 'matches')} flush>
            <Table label="Documents found" items={data} columns={[{ ...nameColumn, cell: MatchCell }]} />
          </Panel>
        )
      }
    </Answered>
  )
}

const MatchCell = (match: DocumentMatch) => (
  <>
    {nameColumn.cell(match)}
    <p className="line-clamp-2 text-xs break-words text-soft">
      {match.snippet.split('**').map((part, index) =>
        // biome-ignore lint/suspicious/noArrayIndexKey: parts of a text are identified by their position
        index % 2 === 1 ? <mark key={index}>{part}</mark> : part,
      )}
    </p>
  </>
)
