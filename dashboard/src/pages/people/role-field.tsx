import type { ComponentProps } from 'react'
import type { UserRole } from '../../api.ts'
import { Select } from '../../ui/field.tsx'

const descriptions: Readonly<Record<UserRole, string>> = {
  owner: 'Full access, including people and keys',
  editor: 'Manages tools, servers and agents',
  reviewer: 'Decides on approvals, and nothing else',
  viewer: 'Sees everything, changes nothing',
}

const roles = Object.keys(descriptions) as UserRole[]

export const isRole = (text: string): text is UserRole => (roles as string[]).includes(text)

type Props = Omit<ComponentProps<typeof Select>, 'options' | 'label'> & { label?: string; none?: string }

/** `none` is the label of an empty choice. */
export const RoleField = ({ label = 'Role', none, ...rest }: Props) => (
  <Select
    label={label}
    {...rest}
    options={[
      ...(none === undefined ? [] : [['', none] as const]),
      ...roles.map((role) => [role, `${role[0]?.toUpperCase()}${role.slice(1)}: ${descriptions[role]}`] as const),
    ]}
  />
)
