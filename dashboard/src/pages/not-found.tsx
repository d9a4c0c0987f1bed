import { Link } from '@tanstack/react-router'
import { buttonClass } from '../ui/button.tsx'
import { Empty, ErrorNotice } from '../ui/notice.tsx'
import { PageHead } from '../ui/panel.tsx'

export const NotFound = () => (
  <>
    <PageHead title="Not found" />
    <Empty
      title="Page not found"
      action={
        <Link to="/" className={buttonClass('main')}>
          Go to overview
        </Link>
      }
    >
      Check the address for typos.
    </Empty>
  </>
)

/** After an update, the old script files are gone and the page must be reloaded. */
export const PageFailed = ({ error }: { error: unknown }) => {
  const isOutdated = error instanceof Error && /import/i.test(error.message)
  const shown = isOutdated
    ? new Error('This page could not be loaded. The dashboard may have been updated since you opened it.')
    : error
  return <ErrorNotice error={shown} retry={() => window.location.reload()} />
}
