import { useNavigate } from '@tanstack/react-router'
import { ask, qm, type ToolType } from '../../api.ts'
import { useNewProject } from '../../shell/project-field.tsx'
import { typeOf, useToolTypes } from '../../tool-types.ts'
import { Answered } from '../../ui/notice.tsx'
import { PageHead } from '../../ui/panel.tsx'
import { bodyOf, emptyDraft } from './draft.ts'
import { ToolForm } from './form.tsx'

export function NewTool() {
  const navigate = useNavigate()
  const { inProject, field } = useNewProject()
  return (
    <>
      <PageHead title="New tool" actions={field} />
      <Answered query={useToolTypes()}>
        {(types) => (
          <ToolForm
            isNew
            types={types}
            start={emptyDraft(types[0] as ToolType)}
            save={(draft) =>
              ask(qm.tools.createTool({ body: { ...bodyOf(draft, typeOf(draft, types)), ...inProject } }))
            }
            changes={['tools']}
            onDone={({ id }) => void navigate({ to: '/tools/$toolId', params: { toolId: id } })}
          />
        )}
      </Answered>
    </>
  )
}
