import { type ReactNode, useState } from 'react'
import { useProjectId } from '../project.ts'
import { useProjects, useSession } from '../queries.ts'
import { Select } from '../ui/field.tsx'

/** The project of a new record: the selected one, the only one, or one that the form asks for. */
export function useNewProject(): { readonly inProject: { project_id?: string }; readonly field: ReactNode } {
  const { data: projects = [] } = useProjects()
  const { data: session } = useSession()
  const chosen = useProjectId()
  const [asked, setAsked] = useState('')
  if (chosen) return { inProject: { project_id: chosen }, field: null }
  if (session?.principal.project_id || projects.length < 2) return { inProject: {}, field: null }
  const id = asked || (projects[0]?.id ?? '')
  const field = (
    <Select
      label="Project"
      value={id}
      onChange={(event) => setAsked(event.target.value)}
      options={projects.map((project) => [project.id, project.name] as const)}
    />
  )
  return { inProject: { project_id: id }, field }
}
