import { Link } from '@tanstack/react-router'
import { buttonLook } from '../ui/button.tsx'
import { Empty, ErrorNotice } from '../ui/notice.tsx'
import { PageHead } from '../ui/panel.tsx'

export const NotFound = () => (
  <>
    <PageHead title="Not found" />
    <Empty
      title="There is no such page"
      action={
        <Link to="/" className={buttonLook('main')}>
          To the overview
        </Link>
      }
    >
      The address may be mistyped, or the page of a newer version.
    </Empty>
  </>
)

/** A page that could not be shown: after an update its old files are gone, and only loading anew helps. */
export const PageFailed = ({ error }: { error: unknown }) => {
  const isGone = error instanceof Error && /import/i.test(error.message)
  const told = isGone ? new Error('This page could not be loaded: the dashboard may have been updated.') : error
  return <ErrorNotice error={told} retry={() => window.location.reload()} />
}
