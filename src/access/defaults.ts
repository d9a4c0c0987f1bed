import type { PolicyDocument } from '../model/access-policy.ts'

/** Access policies that every installation has, so that a first key needs no policy to be written. */
export const defaultPolicies: readonly { id: string; name: string; description: string; document: PolicyDocument }[] = [
  {
    id: 'pol_administrator',
    name: 'administrator',
    description: 'May do everything, within the key’s project if it is bound to one.',
    document: { statement: [{ effect: 'Allow', action: ['*'], resource: ['*'] }] },
  },
  {
    id: 'pol_editor',
    name: 'editor',
    description: 'May manage and call tools and read the record, but not keys, access policies and projects.',
    document: {
      statement: [
        { effect: 'Allow', action: ['*'], resource: ['*'] },
        { effect: 'Deny', action: ['api-keys:*', 'access-policies:*'], resource: ['*'] },
        {
          effect: 'Deny',
          action: ['projects:CreateProject', 'projects:UpdateProject', 'projects:DeleteProject'],
          resource: ['*'],
        },
      ],
    },
  },
  {
    id: 'pol_caller',
    name: 'caller',
    description: 'May see and call tools and use MCP servers, and nothing else: for an agent or an application.',
    document: {
      statement: [
        {
          effect: 'Allow',
          action: ['tools:GetTool', 'tools:ListTools', 'tools:ListToolActions', 'tools:CallTool', 'servers:UseServer'],
          resource: ['*'],
        },
      ],
    },
  },
  {
    id: 'pol_reviewer',
    name: 'reviewer',
    description: 'May see and decide approvals, and nothing else: for a person who looks at what agents want to do.',
    document: {
      statement: [
        {
          effect: 'Allow',
          action: ['approvals:ListApprovals', 'approvals:GetApproval', 'approvals:DecideApproval'],
          resource: ['*'],
        },
      ],
    },
  },
]
