import { useState } from 'react'
import { SchemaPart } from '../../schema-form/form.tsx'
import { followed, kindOf, type Schema } from '../../schema-form/schema.ts'
import { Select, Switch, TextArea, TextField } from '../../ui/field.tsx'
import { fromPairs, PairsField, toPairs } from '../../ui/pairs.tsx'
import { Panel } from '../../ui/panel.tsx'
import { type Fields, hintsOf, isPairs, type Variant, variantOf } from './config.ts'
import { ParametersField } from './parameters.tsx'
import { PlatformActions } from './platform-actions.tsx'

type FaultOf = (path: string) => string | undefined

interface Props {
  readonly schema: Schema
  readonly value: Fields
  readonly faultOf: FaultOf
  onChange(value: Fields): void
}

/** The fields of a tool type, rendered from the schema that the platform provides. */
export function ConfigForm({ schema, value, faultOf, onChange }: Props) {
  const fields = Object.entries(schema.properties ?? {}).map(([name, property]) => ({
    name,
    property: followed(property, schema),
  }))
  const isWhole = ({ property }: (typeof fields)[number]) =>
    hintsOf(property).control !== undefined || kindOf(property) === 'object'
  const whole = fields.filter(isWhole)
  const single = fields.filter((field) => !isWhole(field))
  const part = ({ name, property }: (typeof fields)[number], isAlone: boolean) => (
    <Part
      key={name}
      name={name}
      path={name}
      schema={property}
      root={schema}
      isAlone={isAlone}
      isRequired={schema.required?.includes(name) ?? false}
      value={value[name]}
      faultOf={faultOf}
      onChange={(next) => onChange({ ...value, [name]: next })}
    />
  )
  const panels = (isLast: boolean) =>
    whole
      .filter(({ property }) => (hintsOf(property).last === true) === isLast)
      .map((field) => (
        <Panel key={field.name} title={field.property.title ?? field.name}>
          {part(field, true)}
        </Panel>
      ))
  return (
    <>
      {panels(false)}
      {single.length > 0 && (
        <Panel title="Settings">
          <div className="space-y-4">{single.map((field) => part(field, false))}</div>
        </Panel>
      )}
      {panels(true)}
    </>
  )
}

interface PartProps {
  readonly name: string
  readonly path: string
  readonly schema: Schema
  readonly root: Schema
  readonly value: unknown
  readonly isRequired: boolean
  /** Whether the field has its own panel, whose title is the label. */
  readonly isAlone?: boolean
  readonly faultOf: FaultOf
  /** Undefined removes the value. */
  onChange(value: unknown): void
}

function Part(props: PartProps) {
  const { name, path, schema, value, isRequired, faultOf, onChange } = props
  const hints = hintsOf(schema)
  const label = schema.title ?? name
  const common = { label, hint: schema.description, error: faultOf(path) }
  const typed = { ...common, mono: true, required: isRequired, placeholder: hints.placeholder }
  if (hints.control === 'schema') return <ParametersField value={value} onChange={onChange} error={common.error} />
  if (hints.control === 'platform-actions')
    return <PlatformActions value={value} onChange={onChange} error={common.error} />
  if (hints.control === 'lines') return <Lines {...props} label={label} />
  if (isPairs(schema)) return <PairsPart {...props} label={label} />
  switch (kindOf(schema)) {
    case 'object':
      return <ObjectPart {...props} />
    case 'boolean':
      return (
        <Switch
          label={label}
          hint={schema.description}
          checked={value === true}
          onChange={(isOn) => onChange(isOn ? true : isRequired ? false : undefined)}
        />
      )
    case 'choice': {
      const options = (schema.enum ?? [schema.const]).map(String)
      const shown = [...(isRequired || value !== undefined ? [] : [['', 'Default'] as const]), ...options.map(same)]
      return (
        <Select
          {...common}
          value={value === undefined ? '' : String(value)}
          options={shown}
          onChange={({ target }) => onChange(schema.enum?.[options.indexOf(target.value)])}
        />
      )
    }
    case 'number':
    case 'integer':
      return (
        <TextField
          {...typed}
          type="number"
          step={kindOf(schema) === 'integer' ? 1 : 'any'}
          min={schema.minimum}
          max={schema.maximum}
          value={typeof value === 'number' ? value : ''}
          onChange={({ target }) => onChange(target.value === '' ? undefined : target.valueAsNumber)}
        />
      )
    case 'text':
      return (
        <TextField
          {...typed}
          value={typeof value === 'string' ? value : ''}
          onChange={({ target }) => onChange(target.value === '' && !isRequired ? undefined : target.value)}
        />
      )
    default:
      return <SchemaPart {...props} depth={1} />
  }
}

const same = (option: string) => [option, option] as const

function ObjectPart({ path, schema, root, value, isAlone = false, faultOf, onChange, ...rest }: PartProps) {
  const fields = (typeof value === 'object' && value !== null ? value : {}) as Fields
  const { rows, variants } = hintsOf(schema)
  const properties = schema.properties ?? {}
  const [chosen, setChosen] = useState(() => variants && variantOf(variants.options, fields))
  const [savedFields, setSavedFields] = useState<ReadonlyMap<string, Fields>>(new Map())
  const switchTo = (next: Variant) => {
    const inVariants = new Set(variants?.options.flatMap((option) => option.fields))
    const entries = Object.entries(fields)
    if (chosen) {
      const left = Object.fromEntries(entries.filter(([name]) => chosen.fields.includes(name)))
      setSavedFields(new Map([...savedFields, [chosen.title, left]]))
    }
    setChosen(next)
    onChange({
      ...Object.fromEntries(entries.filter(([name]) => !inVariants.has(name))),
      ...savedFields.get(next.title),
    })
  }
  const hidden = new Set(variants?.options.filter((option) => option !== chosen).flatMap((option) => option.fields))
  const shown = (rows ?? Object.keys(properties).map((name) => [name])).filter(([first = '']) => !hidden.has(first))
  const hasFieldError = Object.keys(properties).some((name) => faultOf(`${path}.${name}`))
  const part = (name: string) => (
    <Part
      key={name}
      name={name}
      path={`${path}.${name}`}
      schema={followed(properties[name] ?? {}, root)}
      root={root}
      isRequired={(schema.required?.includes(name) || chosen?.required?.includes(name)) ?? false}
      value={fields[name]}
      faultOf={faultOf}
      onChange={(next) => {
        const { [name]: _, ...others } = fields
        onChange(next === undefined ? others : { ...others, [name]: next })
      }}
    />
  )
  const body = (
    <div className="space-y-4">
      {variants && (
        <Select
          label={variants.title}
          value={chosen?.title ?? ''}
          options={variants.options.map(({ title }) => same(title))}
          onChange={({ target }) => {
            const next = variants.options.find(({ title }) => title === target.value)
            if (next) switchTo(next)
          }}
        />
      )}
      {shown.map((names) =>
        names.length === 1 ? (
          part(names[0] as string)
        ) : (
          <div key={names.join()} className="grid gap-4 sm:grid-cols-[8rem_minmax(0,1fr)]">
            {names.map(part)}
          </div>
        ),
      )}
      {!hasFieldError && faultOf(path) && <p className="text-xs text-bad">{faultOf(path)}</p>}
    </div>
  )
  if (isAlone) return body
  return (
    <fieldset className="rounded-md border border-line p-3">
      <legend className="px-1 text-sm font-medium">{schema.title ?? rest.name}</legend>
      {body}
    </fieldset>
  )
}

/** Keeps its own state, because pairs without a name are not part of the value. */
function PairsPart({ label, schema, path, value, faultOf, onChange }: PartProps & { label: string }) {
  const [pairs, setPairs] = useState(() => toPairs(value as Record<string, string> | undefined))
  return (
    <PairsField
      label={label}
      add={hintsOf(schema).add ?? 'Add'}
      {...(schema.description && { hint: schema.description })}
      error={faultOf(path)}
      pairs={pairs}
      onChange={(next) => {
        setPairs(next)
        const record = fromPairs(next)
        onChange(Object.keys(record).length === 0 ? undefined : record)
      }}
    />
  )
}

/** Keeps its own state, because empty lines are not part of the value. */
function Lines({ label, schema, path, value, isRequired, faultOf, onChange }: PartProps & { label: string }) {
  const [text, setText] = useState(() => (Array.isArray(value) ? value.join('\n') : ''))
  return (
    <TextArea
      label={label}
      mono
      rows={3}
      hint={schema.description ?? 'One per line'}
      error={faultOf(path)}
      value={text}
      onChange={({ target }) => {
        setText(target.value)
        const lines = target.value.split('\n').filter((line) => line !== '')
        onChange(lines.length === 0 && !isRequired ? undefined : lines)
      }}
    />
  )
}
