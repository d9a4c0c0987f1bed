import { useQuery } from '@tanstack/react-query'
import { Link, useParams } from '@tanstack/react-router'
import { guideNames, loadGuide, titleOf } from '../../guides.ts'
import { Markdown } from '../../ui/markdown.tsx'
import { Answered, Empty } from '../../ui/notice.tsx'
import { PageHead } from '../../ui/panel.tsx'

export function Guide() {
  const { guide } = useParams({ from: '/help/$guide' })
  const text = useQuery({
    queryKey: ['guide', guide],
    staleTime: Number.POSITIVE_INFINITY,
    queryFn: async () => (await loadGuide(guide)) ?? null,
  })
  return (
    <div className="max-w-3xl">
      <nav aria-label="Help" className="mb-3 text-sm">
        <Link to="/help" className="text-accent hover:underline">
          ← All guides
        </Link>
      </nav>
      <Answered query={text}>
        {(found) =>
          found === null ? (
            <Empty title="Guide not found">Choose a guide from the list of all guides.</Empty>
          ) : (
            <>
              <PageHead title={titleOf(found)} />
              <Markdown text={found.replace(/^#\s+.+\n/, '')} pageOf={pageOf} />
            </>
          )
        }
      </Answered>
    </div>
  )
}

/** Guides link to one another by file name. */
function pageOf(target: string): string | undefined {
  const name = /^([\w-]+)\.md(?:#.*)?$/.exec(target)?.[1]
  if (name && guideNames.includes(name)) return `/help/${name}`
  return /^\.\.\/reference\/operations\.md/.test(target) ? '/api/docs' : undefined
}
