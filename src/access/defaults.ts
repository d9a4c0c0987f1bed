import type { PolicyDocument } from '../model/access-policy.ts'

/** Access policies that exist in every installation. */
export const defaultPolicies: readonly { id: string; name: string; description: string; document: PolicyDocument }[] = [
  {
    id: 'pol_administrator',
    name: 'administrator',
    description: 'Full access, limited to the key’s project if it is bound to one.',
    document: { statement: [{ effect: 'Allow', action: ['*'], resource: ['*'] }] },
  },
  {
    id: 'pol_editor',
    name: 'editor',
    description:
      'Can manage and call tools and read the call log, but cannot manage keys, access policies or projects.',
    document: {
      statement: [
        { effect: 'Allow', action: ['*'], resource: ['*'] },
        { effect: 'Deny', action: ['api-keys:*', 'access-policies:*'], resource: ['*'] },
        { effect: 'Deny', action: ['connections:ActAs', 'connections:OverrideIssuer'], resource: ['*'] },
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
    description: 'Can only list and call tools and use MCP servers. For agents and applications.',
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
    description: 'Can only view and decide approvals. For people who review the calls of agents.',
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
