import type { PolicyDocument } from '../model/access-policy.ts'

/** The permission of every operation that only reads. */
const reads = Object.entries({
  projects: ['GetProject', 'ListProjects'],
  'api-keys': ['GetApiKey', 'ListApiKeys'],
  users: ['GetUser', 'ListUsers'],
  'sign-in-providers': ['GetSignInProvider', 'ListSignInProviders'],
  'access-policies': ['GetAccessPolicy', 'ListAccessPolicies'],
  tools: ['GetTool', 'ListTools', 'GetToolHealth', 'ListToolActions', 'ListDefinitionChanges'],
  servers: ['GetServer', 'ListServers', 'GetServerFootprint'],
  skills: ['GetSkill', 'ListSkills', 'ExportSkill'],
  'ai-providers': ['GetAiProvider', 'GetAiProviderRecording', 'ListAiProviders'],
  agents: ['GetAgent', 'ListAgents', 'GetGeneration', 'ListGenerations'],
  documents: ['GetDocument', 'ListDocuments'],
  files: ['GetFile', 'ListFiles', 'ReadFile', 'DownloadFile'],
  calls: ['GetCall', 'ListCalls'],
  webhooks: ['GetWebhook', 'ListWebhooks', 'GetWebhookDelivery', 'ListWebhookDeliveries'],
  approvals: ['GetApproval', 'ListApprovals'],
  'approval-rules': ['GetApprovalRule', 'ListApprovalRules'],
  secrets: ['GetSecret', 'ListSecrets'],
  modes: ['GetMode', 'ListModes'],
  'workflow-runs': ['GetWorkflowRun', 'ListWorkflowRuns'],
  connections: ['GetConnection', 'ListConnections'],
  'auth-configs': ['GetAuthConfig', 'ListAuthConfigs'],
  sessions: ['GetSession', 'ListSessions', 'ListEvents'],
  'oauth-grants': ['ListOauthGrants'],
  'trusted-issuers': ['GetTrustedIssuer', 'ListTrustedIssuers'],
  'signing-keys': ['ListSigningKeys'],
}).flatMap(([module, names]) => names.map((name) => `${module}:${name}`))

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
      'Can manage and call tools and read the call log, but cannot manage keys, people, access policies or projects.',
    document: {
      statement: [
        { effect: 'Allow', action: ['*'], resource: ['*'] },
        {
          effect: 'Deny',
          action: [
            'api-keys:*',
            'users:*',
            'sign-in-providers:*',
            'trusted-issuers:*',
            'signing-keys:*',
            'access-policies:*',
          ],
          resource: ['*'],
        },
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
  {
    id: 'pol_viewer',
    name: 'viewer',
    description: 'Can see everything, but cannot change anything or call tools.',
    document: { statement: [{ effect: 'Allow', action: reads, resource: ['*'] }] },
  },
]
