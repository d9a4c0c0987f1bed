import type { Tool, ToolType } from '../../api.ts'
import { typeOf } from '../../tool-types.ts'
import { Select, Switch, TextArea, TextField } from '../../ui/field.tsx'
import { Form } from '../../ui/form.tsx'
import { JsonField } from '../../ui/json-field.tsx'
import { Panel } from '../../ui/panel.tsx'
import { TypeCards } from '../../ui/type-cards.tsx'
import { type Saving, useForm } from '../../use-form.ts'
import { startConfig } from './config.ts'
import { ConfigForm } from './config-form.tsx'
import { type Draft, isUnreadable, schemaOf } from './draft.ts'

interface Props extends Saving<Draft, Tool> {
  readonly isNew: boolean
  readonly types: readonly ToolType[]
}

export function ToolForm({ isNew, types, ...saving }: Props) {
  const form = useForm(saving)
  const { draft, set, text, faultOf } = form
  const type = typeOf(draft, types)
  return (
    <Form form={form} label={isNew ? 'Create tool' : 'Save'} disabled={isUnreadable(draft, type)}>
      {isNew && (
        <TypeCards
          types={types.map((one) => [one.type, one.title, one.description] as const)}
          value={draft.type}
          className="lg:grid-cols-4"
          onChange={(next) => {
            const chosen = typeOf({ type: next }, types)
            if (chosen) set({ type: next, config: startConfig(schemaOf(chosen)) })
          }}
        />
      )}
      <Panel title="General">
        <div className="grid gap-4 md:grid-cols-2">
          <TextField
            label="Name"
            mono
            required
            {...text('name')}
            hint="Shown to models, or used as a prefix for its actions. Letters, digits, _ and -"
          />
          <TextField
            label="App"
            mono
            {...text('app')}
            hint="Namespace (slug) of its actions. Leave empty for the default"
          />
          <div className="md:col-span-2">
            <TextArea
              label="Description"
              rows={3}
              {...text('description')}
              hint="Tells models what the tool does and when to use it"
            />
          </div>
        </div>
      </Panel>
      {type && (
        <ConfigForm
          key={type.type}
          schema={schemaOf(type)}
          value={draft.config}
          faultOf={faultOf}
          onChange={(config) => set({ config })}
        />
      )}
      <Panel title="Limits">
        <div className="grid gap-4 md:grid-cols-3">
          <Select
            label="Level"
            {...text('level')}
            options={[
              ['open', 'Open'],
              ['restricted', 'Restricted'],
              ['administrative', 'Administrative'],
            ]}
            hint="How sensitive the tool is"
          />
          <Select
            label="Approval"
            {...text('approval')}
            options={[
              ['level', 'Required above level open'],
              ['always', 'Required for every call'],
              ['never', 'Not required'],
            ]}
          />
          <TextField
            label="Approval timeout"
            type="number"
            min={1}
            max={604_800}
            {...text('decideIn', 'approval_timeout_seconds')}
            hint="Seconds. Default: that of the server or the project"
          />
          <div className="md:col-span-2">
            <Switch
              label="Require approval for destructive actions"
              hint="Actions not declared as safe require approval, regardless of the setting above"
              checked={draft.asksDestructive}
              onChange={(asksDestructive) => set({ asksDestructive })}
            />
          </div>
          {type?.remote_actions && (
            <div className="md:col-span-2">
              <Switch
                label="Pin definitions"
                hint="Block an action whose description changes until you review it"
                checked={draft.pinned}
                onChange={(pinned) => set({ pinned })}
              />
            </div>
          )}
          <TextField
            label="Timeout"
            type="number"
            min={1}
            max={3600}
            {...text('timeout', 'timeout_seconds')}
            hint="Seconds. Default: 60"
          />
          <div className="md:col-span-3">
            <JsonField
              label="Presets"
              hint="Fixed input fields. Callers do not see them and cannot override them"
              placeholder={'{ "account": "acme" }'}
              rows={3}
              value={draft.presets}
              onChange={(presets) => set({ presets })}
              error={faultOf('preset_parameters')}
            />
          </div>
          {type?.many_actions && (
            <div className="md:col-span-3">
              <JsonField
                label="Settings of single actions"
                hint="Level, approval and availability by action. * stands for all that are not listed"
                placeholder={'{ "read_file": { "auto_approve": true }, "delete_file": { "enabled": false } }'}
                rows={3}
                value={draft.perAction}
                onChange={(perAction) => set({ perAction })}
                error={faultOf('action_settings')}
              />
            </div>
          )}
        </div>
      </Panel>
    </Form>
  )
}
