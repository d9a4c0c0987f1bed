import { PageHead } from '../ui/panel.tsx'

export const Overview = () => <PageHead title="Overview" />
