import { useState } from 'react'
import { Button, IconButton } from '../ui/button.tsx'
import { Field } from '../ui/field.tsx'
import { JsonField } from '../ui/json-field.tsx'
import { followed, kindOf, opensTo, type Schema, startOf } from './schema.ts'

interface PartProps {
  readonly schema: Schema
  readonly root: Schema
  readonly name: string
  readonly value: unknown
  readonly isRequired: boolean
  readonly depth: number
  /** Undefined removes the value. */
  onChange(value: unknown): void
}

/** A form for a JSON Schema. Input can also be edited as JSON, which some schemas require. */
export function SchemaForm({
  schema,
  value,
  onChange,
}: {
  schema: Schema
  value: Record<string, unknown>
  onChange: (value: Record<string, unknown> | undefined) => void
}) {
  const fits = kindOf(schema) === 'object'
  const [isJson, setJson] = useState(!fits)
  const isEmpty = !schema.properties || Object.keys(schema.properties).length === 0
  if (isEmpty && schema.additionalProperties === false) return <p className="text-sm text-soft">No input.</p>
  return (
    <div className="space-y-3">
      {isJson ? (
        <JsonField
          label="Input, as JSON"
          value={value}
          rows={10}
          onChange={(next) => onChange(next === undefined ? undefined : ((next ?? {}) as Record<string, unknown>))}
        />
      ) : (
        <Properties
          schema={schema}
          root={schema}
          value={value}
          depth={0}
          onChange={(next) => onChange((next ?? {}) as Record<string, unknown>)}
        />
      )}
      {fits && (
        <Button variant="quiet" className="-ml-2.5" onClick={() => setJson(!isJson)}>
          {isJson ? 'Edit as form' : 'Edit as JSON'}
        </Button>
      )}
    </div>
  )
}

function Properties({ schema, root, value, depth, onChange }: Omit<PartProps, 'name' | 'isRequired'>) {
  const fields = (typeof value === 'object' && value !== null ? value : {}) as Record<string, unknown>
  return (
    <div className="space-y-3">
      {Object.entries(schema.properties ?? {}).map(([name, property]) => (
        <SchemaPart
          key={name}
          name={name}
          schema={property}
          root={root}
          value={Object.hasOwn(fields, name) ? fields[name] : undefined}
          isRequired={schema.required?.includes(name) ?? false}
          depth={depth}
          onChange={(next) => {
            const { [name]: _, ...others } = fields
            onChange(next === undefined ? others : { ...others, [name]: next })
          }}
        />
      ))}
    </div>
  )
}

/** The input for one value. */
export function SchemaPart(props: PartProps) {
  const schema = followed(props.schema, props.root)
  const kind = props.depth > 6 ? 'json' : kindOf(schema)
  const { name, isRequired, value, onChange } = props
  const label = (
    <>
      <code className="font-mono">{name}</code>
      {isRequired && <span className="ml-1 text-xs font-normal text-soft">required</span>}
    </>
  )
  const hint = schema.description
  switch (kind) {
    case 'object':
      return <ObjectPart {...props} schema={schema} />
    case 'array':
      return <ArrayPart {...props} schema={schema} />
    case 'choice':
      return <ChoicePart {...props} schema={schema} />
    case 'boolean':
      return <ChoicePart {...props} schema={{ ...schema, enum: [true, false] }} />
    case 'number':
    case 'integer':
      return (
        <Field label={label} hint={hint}>
          {(control) => (
            <input
              {...control}
              type="number"
              step={kind === 'integer' ? 1 : 'any'}
              min={schema.minimum}
              max={schema.maximum}
              className="control"
              value={typeof value === 'number' ? value : ''}
              onChange={({ target }) => onChange(target.value === '' ? undefined : target.valueAsNumber)}
            />
          )}
        </Field>
      )
    case 'text':
      return (
        <Field label={label} hint={hint}>
          {(control) => (
            <textarea
              {...control}
              rows={isLong(schema, value) ? 4 : 1}
              className="control field-sizing-content resize-none"
              placeholder={String(schema.examples?.[0] ?? '')}
              value={typeof value === 'string' ? value : ''}
              onChange={({ target }) => onChange(target.value === '' && !isRequired ? undefined : target.value)}
            />
          )}
        </Field>
      )
    default:
      return (
        <JsonField
          label={label}
          hint={hint ?? 'As JSON'}
          rows={3}
          value={value}
          onChange={(next) => onChange(next === null ? undefined : next)}
        />
      )
  }
}

const isLong = ({ maxLength }: Schema, value: unknown) =>
  (typeof maxLength === 'number' && maxLength > 500) || (typeof value === 'string' && value.length > 80)

function ObjectPart({ schema, root, name, value, isRequired, depth, onChange }: PartProps) {
  const isThere = value !== undefined
  return (
    <fieldset className="rounded-md border border-line p-3">
      <legend className="px-1 text-sm font-medium">
        <code className="font-mono">{name}</code>
        {isRequired && <span className="ml-1 text-xs font-normal text-soft">required</span>}
      </legend>
      {schema.description && <p className="mb-2 text-xs text-soft">{schema.description}</p>}
      {isThere || (isRequired && depth < opensTo) ? (
        <>
          <Properties schema={schema} root={root} value={value} depth={depth + 1} onChange={onChange} />
          {!isRequired && (
            <Button variant="quiet" className="mt-2" onClick={() => onChange(undefined)}>
              Remove {name}
            </Button>
          )}
        </>
      ) : (
        <Button icon="plus" onClick={() => onChange(startOf(schema, root) ?? {})}>
          Add {name}
        </Button>
      )}
    </fieldset>
  )
}

function ArrayPart({ schema, root, name, value, isRequired, depth, onChange }: PartProps) {
  const items = Array.isArray(value) ? value : []
  const item = schema.items as Schema
  const set = (next: unknown[]) => onChange(next.length === 0 && !isRequired ? undefined : next)
  return (
    <fieldset className="rounded-md border border-line p-3">
      <legend className="px-1 text-sm font-medium">
        <code className="font-mono">{name}</code>
        {isRequired && <span className="ml-1 text-xs font-normal text-soft">required</span>}
      </legend>
      {schema.description && <p className="mb-2 text-xs text-soft">{schema.description}</p>}
      <div className="space-y-2">
        {items.map((one, index) => (
          // biome-ignore lint/suspicious/noArrayIndexKey: items are identified by their position
          <div key={index} className="flex items-start gap-2">
            <div className="min-w-0 flex-1">
              <SchemaPart
                name={`${name}[${index}]`}
                schema={item}
                root={root}
                value={one}
                isRequired
                depth={depth + 1}
                onChange={(next) => set(items.with(index, next))}
              />
            </div>
            <IconButton
              label={`Remove ${name}[${index}]`}
              icon="close"
              onClick={() => set(items.toSpliced(index, 1))}
            />
          </div>
        ))}
        <Button icon="plus" onClick={() => set([...items, startOf(item, root) ?? emptyOf(item, root)])}>
          Add to {name}
        </Button>
      </div>
    </fieldset>
  )
}

const emptyOf = (schema: Schema, root: Schema): unknown => {
  const kind = kindOf(followed(schema, root))
  return kind === 'text' ? '' : kind === 'object' ? {} : kind === 'array' ? [] : null
}

function ChoicePart({ schema, name, value, isRequired, onChange }: PartProps) {
  const options = schema.enum ?? [schema.const]
  const at = options.findIndex((option) => JSON.stringify(option) === JSON.stringify(value))
  return (
    <Field
      label={
        <>
          <code className="font-mono">{name}</code>
          {isRequired && <span className="ml-1 text-xs font-normal text-soft">required</span>}
        </>
      }
      hint={schema.description}
    >
      {(control) => (
        <select
          {...control}
          className="control"
          value={at < 0 ? '' : String(at)}
          onChange={({ target }) => onChange(target.value === '' ? undefined : options[Number(target.value)])}
        >
          <option value="">{isRequired ? 'Choose' : 'Not set'}</option>
          {options.map((option, index) => (
            <option key={JSON.stringify(option)} value={index}>
              {typeof option === 'string' ? option : JSON.stringify(option)}
            </option>
          ))}
        </select>
      )}
    </Field>
  )
}
