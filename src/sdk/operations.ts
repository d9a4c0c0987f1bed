// Printed from src/operations by "npm run generate". Change an operation there, and print again.
import type { Bytes, ServerEvent } from './streams.ts'

export const routes = {
  projects: {
    createProject: 'POST /projects',
    deleteProject: 'DELETE /projects/{project_id}',
    getProject: 'GET /projects/{project_id}',
    listProjects: 'GET /projects',
    updateProject: 'PATCH /projects/{project_id}',
  },
  apiKeys: {
    createApiKey: 'POST /api-keys',
    deleteApiKey: 'DELETE /api-keys/{api_key_id}',
    getApiKey: 'GET /api-keys/{api_key_id}',
    getCurrentApiKey: 'GET /api-keys/current',
    listApiKeys: 'GET /api-keys',
    updateApiKey: 'PATCH /api-keys/{api_key_id}',
  },
  accessPolicies: {
    checkAccess: 'POST /access/check',
    createAccessPolicy: 'POST /access-policies',
    deleteAccessPolicy: 'DELETE /access-policies/{access_policy_id}',
    getAccessPolicy: 'GET /access-policies/{access_policy_id}',
    listAccessPolicies: 'GET /access-policies',
    updateAccessPolicy: 'PATCH /access-policies/{access_policy_id}',
  },
  tools: {
    acceptDefinitions: 'POST /tools/{tool_id}/accept-definitions',
    callTool: 'POST /tools/{tool_id}/call',
    createTool: 'POST /tools',
    deleteTool: 'DELETE /tools/{tool_id}',
    getTool: 'GET /tools/{tool_id}',
    getToolHealth: 'GET /tools/{tool_id}/health',
    importMcpServers: 'POST /tools/import',
    listDefinitionChanges: 'GET /tools/{tool_id}/definition-changes',
    listToolActions: 'GET /tools/{tool_id}/actions',
    listTools: 'GET /tools',
    refreshTool: 'POST /tools/{tool_id}/refresh',
    updateTool: 'PATCH /tools/{tool_id}',
  },
  servers: {
    createServer: 'POST /servers',
    deleteServer: 'DELETE /servers/{server_id}',
    getServer: 'GET /servers/{server_id}',
    getServerFootprint: 'GET /servers/{server_id}/footprint',
    listServers: 'GET /servers',
    resolveActions: 'POST /servers/{server_id}/resolve',
    updateServer: 'PATCH /servers/{server_id}',
  },
  skills: {
    createSkill: 'POST /skills',
    deleteSkill: 'DELETE /skills/{skill_id}',
    exportSkill: 'GET /skills/{skill_id}/export',
    getSkill: 'GET /skills/{skill_id}',
    importSkills: 'POST /skills/import',
    listSkills: 'GET /skills',
    updateSkill: 'PATCH /skills/{skill_id}',
  },
  aiProviders: {
    createAiProvider: 'POST /ai-providers',
    deleteAiProvider: 'DELETE /ai-providers/{ai_provider_id}',
    deleteAiProviderRecording: 'DELETE /ai-providers/{ai_provider_id}/recording',
    getAiProvider: 'GET /ai-providers/{ai_provider_id}',
    getAiProviderRecording: 'GET /ai-providers/{ai_provider_id}/recording',
    listAiProviders: 'GET /ai-providers',
    testAiProvider: 'POST /ai-providers/{ai_provider_id}/test',
    updateAiProvider: 'PATCH /ai-providers/{ai_provider_id}',
  },
  agents: {
    cancelGeneration: 'POST /generations/{generation_id}/cancel',
    createAgent: 'POST /agents',
    createAgentGeneration: 'POST /agents/{agent_id}/generate',
    deleteAgent: 'DELETE /agents/{agent_id}',
    getAgent: 'GET /agents/{agent_id}',
    getGeneration: 'GET /generations/{generation_id}',
    getGenerationTrace: 'GET /generations/{generation_id}/trace',
    listAgents: 'GET /agents',
    listGenerations: 'GET /generations',
    submitToolOutputs: 'POST /agents/{agent_id}/generate/{generation_id}/tool-outputs',
    updateAgent: 'PATCH /agents/{agent_id}',
    watchGeneration: 'GET /generations/{generation_id}/events',
  },
  documents: {
    createDocument: 'POST /documents',
    deleteDocument: 'DELETE /documents/{document_id}',
    getDocument: 'GET /documents/{document_id}',
    listDocuments: 'GET /documents',
    searchDocuments: 'POST /documents/search',
    updateDocument: 'PATCH /documents/{document_id}',
  },
  files: {
    createFile: 'POST /files',
    deleteFile: 'DELETE /files/{file_id}',
    downloadFile: 'GET /files/{file_id}/content',
    getFile: 'GET /files/{file_id}',
    listFiles: 'GET /files',
    readFile: 'GET /files/{file_id}/text',
    updateFile: 'PATCH /files/{file_id}',
    uploadFile: 'PUT /files/{file_id}/content',
  },
  calls: {
    exportCalls: 'GET /calls/export',
    getCall: 'GET /calls/{call_id}',
    getCallStats: 'GET /calls/stats',
    listCalls: 'GET /calls',
    streamCalls: 'GET /calls/stream',
  },
  webhooks: {
    createWebhook: 'POST /webhooks',
    deleteWebhook: 'DELETE /webhooks/{webhook_id}',
    getWebhook: 'GET /webhooks/{webhook_id}',
    getWebhookDelivery: 'GET /webhooks/{webhook_id}/deliveries/{delivery_id}',
    listWebhookDeliveries: 'GET /webhooks/{webhook_id}/deliveries',
    listWebhooks: 'GET /webhooks',
    redeliverWebhookDelivery: 'POST /webhooks/{webhook_id}/deliveries/{delivery_id}/redeliver',
    rotateWebhookSecret: 'POST /webhooks/{webhook_id}/rotate-secret',
    testWebhook: 'POST /webhooks/{webhook_id}/test',
    updateWebhook: 'PATCH /webhooks/{webhook_id}',
  },
  approvals: {
    approveCall: 'POST /approvals/{approval_id}/approve',
    cancelApproval: 'POST /approvals/{approval_id}/cancel',
    getApproval: 'GET /approvals/{approval_id}',
    listApprovals: 'GET /approvals',
    rejectCall: 'POST /approvals/{approval_id}/reject',
    streamApprovals: 'GET /approvals/stream',
  },
  approvalRules: {
    createApprovalRule: 'POST /approval-rules',
    deleteApprovalRule: 'DELETE /approval-rules/{approval_rule_id}',
    getApprovalRule: 'GET /approval-rules/{approval_rule_id}',
    listApprovalRules: 'GET /approval-rules',
    testApprovalRule: 'POST /approval-rules/test',
    updateApprovalRule: 'PATCH /approval-rules/{approval_rule_id}',
  },
} as const

/** The methods that send or get something other than JSON. */
export const streams = {
  watchGeneration: { answers: 'events' },
  downloadFile: { answers: 'bytes' },
  uploadFile: { accepts: 'bytes' },
  exportCalls: { answers: 'bytes' },
  streamCalls: { answers: 'events' },
  streamApprovals: { answers: 'events' },
} as const

/** What goes into each method and what comes out of it. */
export interface Operations {
  projects: {
    /** Create a project */
    createProject: {
      body: {
        name: string
        /** How long a human’s decision may take, unless the rule, the tool or the server says */
        approval_timeout_seconds?: number | null
      }
      answer: {
        id: string
        name: string
        approval_timeout_seconds: number | null
        created_at: string
        updated_at: string
      }
    }
    /** Delete an empty project */
    deleteProject: {
      path: {
        project_id: string
      }
      answer: null
    }
    /** Get a project */
    getProject: {
      path: {
        project_id: string
      }
      answer: {
        id: string
        name: string
        approval_timeout_seconds: number | null
        created_at: string
        updated_at: string
      }
    }
    /** List projects */
    listProjects: {
      query?: {
        /** How many to return, at most */
        limit?: number
        /** How many to skip */
        offset?: number
      }
      answer: {
        data: Array<{
          id: string
          name: string
          approval_timeout_seconds: number | null
          created_at: string
          updated_at: string
        }>
        total: number
        limit: number
        offset: number
      }
    }
    /** Change a project */
    updateProject: {
      path: {
        project_id: string
      }
      body?: {
        name?: string
        /** How long a human’s decision may take, unless the rule, the tool or the server says */
        approval_timeout_seconds?: number | null
      }
      answer: {
        id: string
        name: string
        approval_timeout_seconds: number | null
        created_at: string
        updated_at: string
      }
    }
  }
  apiKeys: {
    /** Create an API key; its value is in this answer only */
    createApiKey: {
      body: {
        /** The only project it will see; without one, all of them */
        project_id?: string | null
        name: string
        /** What it may do; without any, nothing */
        access_policy_ids?: Array<string>
        rate_limit?: number | null
        expires_at?: string | null
      }
      answer: {
        id: string
        /** The only project the key can see, or null for all */
        project_id: string | null
        name: string
        /** The first characters of the value, to tell keys apart */
        key_prefix: string
        access_policy_ids: Array<string>
        /** The key that it was created with; null for the first keys, and where that is not known */
        created_by: string | null
        /** Requests a minute, or null for the platform’s default */
        rate_limit: number | null
        expires_at: string | null
        last_used_at: string | null
        created_at: string
        updated_at: string
        /** The key’s value: it is never shown again */
        key: string
      }
    }
    /** Revoke an API key, at once; the last admin key stays */
    deleteApiKey: {
      path: {
        api_key_id: string
      }
      answer: null
    }
    /** Get an API key, without its value */
    getApiKey: {
      path: {
        api_key_id: string
      }
      answer: {
        id: string
        /** The only project the key can see, or null for all */
        project_id: string | null
        name: string
        /** The first characters of the value, to tell keys apart */
        key_prefix: string
        access_policy_ids: Array<string>
        /** The key that it was created with; null for the first keys, and where that is not known */
        created_by: string | null
        /** Requests a minute, or null for the platform’s default */
        rate_limit: number | null
        expires_at: string | null
        last_used_at: string | null
        created_at: string
        updated_at: string
      }
    }
    /** See which API key you use and what it may do; every key may */
    getCurrentApiKey: {
      answer: {
        id: string
        /** The only project the key can see, or null for all */
        project_id: string | null
        name: string
        /** The first characters of the value, to tell keys apart */
        key_prefix: string
        access_policy_ids: Array<string>
        /** The key that it was created with; null for the first keys, and where that is not known */
        created_by: string | null
        /** Requests a minute, or null for the platform’s default */
        rate_limit: number | null
        expires_at: string | null
        last_used_at: string | null
        created_at: string
        updated_at: string
        /** Null: the key sees every project */
        project: {
          id: string
          name: string
        } | null
        access_policies: Array<{
          id: string
          name: string
        }>
        platform_version: string
      }
    }
    /** List API keys, without their values */
    listApiKeys: {
      query?: {
        project_id?: string
        /** How many to return, at most */
        limit?: number
        /** How many to skip */
        offset?: number
      }
      answer: {
        data: Array<{
          id: string
          /** The only project the key can see, or null for all */
          project_id: string | null
          name: string
          /** The first characters of the value, to tell keys apart */
          key_prefix: string
          access_policy_ids: Array<string>
          /** The key that it was created with; null for the first keys, and where that is not known */
          created_by: string | null
          /** Requests a minute, or null for the platform’s default */
          rate_limit: number | null
          expires_at: string | null
          last_used_at: string | null
          created_at: string
          updated_at: string
        }>
        total: number
        limit: number
        offset: number
      }
    }
    /** Change what an API key may do */
    updateApiKey: {
      path: {
        api_key_id: string
      }
      body?: {
        name?: string
        access_policy_ids?: Array<string>
        rate_limit?: number | null
        expires_at?: string | null
      }
      answer: {
        id: string
        /** The only project the key can see, or null for all */
        project_id: string | null
        name: string
        /** The first characters of the value, to tell keys apart */
        key_prefix: string
        access_policy_ids: Array<string>
        /** The key that it was created with; null for the first keys, and where that is not known */
        created_by: string | null
        /** Requests a minute, or null for the platform’s default */
        rate_limit: number | null
        expires_at: string | null
        last_used_at: string | null
        created_at: string
        updated_at: string
      }
    }
  }
  accessPolicies: {
    /** Ask whether a key may do something, and which rule says so */
    checkAccess: {
      body: {
        api_key_id: string
        /** As in tools:CallTool */
        permission: string
        /** qm:<project>:<kind>:<id>, where the project may be * for what belongs to none, and the id * for a new one */
        resource: string
      }
      answer: {
        allowed: boolean
        /** What decided */
        layer: 'project' | 'access policy' | 'agent boundary'
        /** The access policy that decided; null where none speaks of it */
        access_policy_id: string | null
        reason: string
      }
    }
    /** Create an access policy */
    createAccessPolicy: {
      body: {
        /** The project it belongs to; without one, keys of every project can hold it */
        project_id?: string | null
        name: string
        description?: string | null
        document: {
          statement: Array<{
            effect: 'Allow' | 'Deny'
            action: Array<string> | string
            resource?: Array<string> | string
            condition?: {
              StringEquals?: Record<string, string | Array<string>>
              StringNotEquals?: Record<string, string | Array<string>>
              StringLike?: Record<string, string | Array<string>>
            }
          }>
        }
      }
      answer: {
        id: string
        project_id: string | null
        name: string
        description: string | null
        document: {
          statement: Array<{
            effect: 'Allow' | 'Deny'
            action: Array<string> | unknown
            resource: Array<string> | unknown
            condition?: {
              StringEquals?: Record<string, string | Array<string>>
              StringNotEquals?: Record<string, string | Array<string>>
              StringLike?: Record<string, string | Array<string>>
            }
          }>
        }
        created_at: string
        updated_at: string
      }
    }
    /** Delete an access policy that no key holds */
    deleteAccessPolicy: {
      path: {
        access_policy_id: string
      }
      answer: null
    }
    /** Get an access policy */
    getAccessPolicy: {
      path: {
        access_policy_id: string
      }
      answer: {
        id: string
        project_id: string | null
        name: string
        description: string | null
        document: {
          statement: Array<{
            effect: 'Allow' | 'Deny'
            action: Array<string> | unknown
            resource: Array<string> | unknown
            condition?: {
              StringEquals?: Record<string, string | Array<string>>
              StringNotEquals?: Record<string, string | Array<string>>
              StringLike?: Record<string, string | Array<string>>
            }
          }>
        }
        created_at: string
        updated_at: string
      }
    }
    /** List access policies */
    listAccessPolicies: {
      query?: {
        project_id?: string
        /** How many to return, at most */
        limit?: number
        /** How many to skip */
        offset?: number
      }
      answer: {
        data: Array<{
          id: string
          project_id: string | null
          name: string
          description: string | null
          document: {
            statement: Array<{
              effect: 'Allow' | 'Deny'
              action: Array<string> | unknown
              resource: Array<string> | unknown
              condition?: {
                StringEquals?: Record<string, string | Array<string>>
                StringNotEquals?: Record<string, string | Array<string>>
                StringLike?: Record<string, string | Array<string>>
              }
            }>
          }
          created_at: string
          updated_at: string
        }>
        total: number
        limit: number
        offset: number
      }
    }
    /** Change an access policy; its holders feel it at once */
    updateAccessPolicy: {
      path: {
        access_policy_id: string
      }
      body?: {
        name?: string
        description?: string | null
        document?: {
          statement: Array<{
            effect: 'Allow' | 'Deny'
            action: Array<string> | string
            resource?: Array<string> | string
            condition?: {
              StringEquals?: Record<string, string | Array<string>>
              StringNotEquals?: Record<string, string | Array<string>>
              StringLike?: Record<string, string | Array<string>>
            }
          }>
        }
      }
      answer: {
        id: string
        project_id: string | null
        name: string
        description: string | null
        document: {
          statement: Array<{
            effect: 'Allow' | 'Deny'
            action: Array<string> | unknown
            resource: Array<string> | unknown
            condition?: {
              StringEquals?: Record<string, string | Array<string>>
              StringNotEquals?: Record<string, string | Array<string>>
              StringLike?: Record<string, string | Array<string>>
            }
          }>
        }
        created_at: string
        updated_at: string
      }
    }
  }
  tools: {
    /** Accept how the actions of an MCP server are described now */
    acceptDefinitions: {
      path: {
        tool_id: string
      }
      body?: {
        /** Which actions; all of them unless given */
        names?: Array<string>
        /** Which actions, each with the hash of the definition that you have read: one that has changed since is refused */
        hashes?: Record<string, string>
      }
      answer: {
        accepted: number
      }
    }
    /** Call a tool and get what it answers */
    callTool: {
      path: {
        tool_id: string
      }
      body?: {
        /** Which action, for tools that offer several */
        action?: string | null
        /** The arguments */
        input?: Record<string, unknown> | null
        /** False: where a human must approve, do not wait for that; send the same call again later */
        wait?: boolean
      }
      answer: unknown
    }
    /** Register a tool */
    createTool: {
      body: {
        project_id?: string
        /** The name a model sees, or the prefix of its actions’ names; unique within the app */
        name: string
        type?: 'http' | 'client' | 'mcp' | 'platform' | 'soat'
        /** What a model decides by */
        description?: string | null
        /** JSON Schema of the input */
        parameters?: Record<string, unknown> | null
        /** How an http tool makes its request */
        execute?: {
          /** Where to send the request; {name} is replaced by the argument of that name */
          url: string
          method?: 'GET' | 'HEAD' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'
          headers?: Record<string, string>
        } | null
        /** The server that an mcp tool stands for */
        mcp?: {
          /** Where the server listens, with Streamable HTTP or SSE */
          url?: string
          /** Sent with every request to it */
          headers?: Record<string, string>
          /** A program that speaks MCP on its standard input and output */
          command?: string
          args?: Array<string>
          env?: Record<string, string>
          cwd?: string
          /** Whether the platform does not start where the server cannot be reached; it is contacted at each start */
          required?: boolean
        } | null
        /** Which of the platform’s actions a platform tool offers */
        actions?: Array<string> | null
        /** Values that are fixed, hidden and always win */
        preset_parameters?: Record<string, unknown> | null
        /** The slug that its actions are filed under */
        app?: string | null
        /** Withhold an action of an MCP server that is described otherwise than before, until that is accepted */
        pin_definitions?: boolean
        /** How sensitive it is; above open, a human decides unless auto_approve is set. Platform actions on API keys, access policies and projects are administrative in any case */
        level?: 'open' | 'restricted' | 'administrative'
        /** Whether calls run without a human’s decision */
        auto_approve?: boolean | null
        /** How long a call may take; 60 unless given */
        timeout_seconds?: number | null
        /** Whether a human decides on each call of an action that may destroy something; of an MCP server’s, every one that it does not call harmless */
        ask_destructive?: boolean
        /** How long a human’s decision may take */
        approval_timeout_seconds?: number | null
      }
      answer: {
        id: string
        project_id: string
        name: string
        type: string
        description: string | null
        parameters: Record<string, unknown> | null
        execute: {
          /** Where to send the request; {name} is replaced by the argument of that name */
          url: string
          method: 'GET' | 'HEAD' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'
          headers?: Record<string, string>
        } | null
        mcp: {
          /** Where the server listens, with Streamable HTTP or SSE */
          url?: string
          /** Sent with every request to it */
          headers?: Record<string, string>
          /** A program that speaks MCP on its standard input and output */
          command?: string
          args?: Array<string>
          env?: Record<string, string>
          cwd?: string
          /** Whether the platform does not start where the server cannot be reached; it is contacted at each start */
          required?: boolean
        } | null
        actions: Array<string> | null
        preset_parameters: Record<string, unknown> | null
        /** The slug that the tool’s actions are filed under */
        app: string
        pin_definitions: boolean
        level: 'open' | 'restricted' | 'administrative'
        /** False: a human decides before each call */
        auto_approve: boolean
        timeout_seconds: number | null
        ask_destructive: boolean
        approval_timeout_seconds: number | null
        created_at: string
        updated_at: string
      }
    }
    /** Delete a tool; the record of its calls stays */
    deleteTool: {
      path: {
        tool_id: string
      }
      query?: {
        /** Delete it even if agents or servers use it; they continue without it */
        force?: boolean
      }
      answer: null
    }
    /** Get a tool */
    getTool: {
      path: {
        tool_id: string
      }
      answer: {
        id: string
        project_id: string
        name: string
        type: string
        description: string | null
        parameters: Record<string, unknown> | null
        execute: {
          /** Where to send the request; {name} is replaced by the argument of that name */
          url: string
          method: 'GET' | 'HEAD' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'
          headers?: Record<string, string>
        } | null
        mcp: {
          /** Where the server listens, with Streamable HTTP or SSE */
          url?: string
          /** Sent with every request to it */
          headers?: Record<string, string>
          /** A program that speaks MCP on its standard input and output */
          command?: string
          args?: Array<string>
          env?: Record<string, string>
          cwd?: string
          /** Whether the platform does not start where the server cannot be reached; it is contacted at each start */
          required?: boolean
        } | null
        actions: Array<string> | null
        preset_parameters: Record<string, unknown> | null
        /** The slug that the tool’s actions are filed under */
        app: string
        pin_definitions: boolean
        level: 'open' | 'restricted' | 'administrative'
        /** False: a human decides before each call */
        auto_approve: boolean
        timeout_seconds: number | null
        ask_destructive: boolean
        approval_timeout_seconds: number | null
        created_at: string
        updated_at: string
      }
    }
    /** See how the MCP server behind a tool was when it was last used */
    getToolHealth: {
      path: {
        tool_id: string
      }
      answer: {
        /** unknown where there is nothing to be connected to, or nobody has tried */
        state: 'unknown' | 'up' | 'down'
        /** Failures in a row */
        failures: number
        error: string | null
        /** How many actions it had when it was last asked */
        tools: number | null
        /** Which protocol era it speaks */
        era: string | null
      }
    }
    /** Register the MCP servers of an mcpServers file, as editors and desktop assistants keep it */
    importMcpServers: {
      body: {
        project_id?: string
        /** The content of the file, under this key */
        mcpServers: Record<string, {
          url?: string
          serverUrl?: string
          httpUrl?: string
          headers?: Record<string, string>
          command?: string
          args?: Array<string>
          env?: Record<string, string>
          cwd?: string
          required?: boolean
          disabled?: boolean
          description?: string
          [key: string]: unknown
        }>
      }
      answer: {
        created: Array<{
          id: string
          project_id: string
          name: string
          type: string
          description: string | null
          parameters: Record<string, unknown> | null
          execute: {
            /** Where to send the request; {name} is replaced by the argument of that name */
            url: string
            method: 'GET' | 'HEAD' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'
            headers?: Record<string, string>
          } | null
          mcp: {
            /** Where the server listens, with Streamable HTTP or SSE */
            url?: string
            /** Sent with every request to it */
            headers?: Record<string, string>
            /** A program that speaks MCP on its standard input and output */
            command?: string
            args?: Array<string>
            env?: Record<string, string>
            cwd?: string
            /** Whether the platform does not start where the server cannot be reached; it is contacted at each start */
            required?: boolean
          } | null
          actions: Array<string> | null
          preset_parameters: Record<string, unknown> | null
          /** The slug that the tool’s actions are filed under */
          app: string
          pin_definitions: boolean
          level: 'open' | 'restricted' | 'administrative'
          /** False: a human decides before each call */
          auto_approve: boolean
          timeout_seconds: number | null
          ask_destructive: boolean
          approval_timeout_seconds: number | null
          created_at: string
          updated_at: string
        }>
        skipped: Array<{
          name: string
          reason: string
          /** False: the file itself leaves it out, as one that is disabled or empty */
          refused: boolean
        }>
        /** What the file says of those that were created, and the tools do not */
        not_taken_over: Array<{
          /** The tool’s */
          name: string
          field: string
          instead: string
        }>
        /** What an editor would fill in, and stands in the tool’s mcp as it is until someone replaces it */
        to_fill_in: Array<{
          /** The tool’s */
          name: string
          field: string
          placeholder: string
        }>
      }
    }
    /** List the actions of a tool that are described otherwise than was accepted, with both descriptions */
    listDefinitionChanges: {
      path: {
        tool_id: string
      }
      query?: {
        /** How many to return, at most */
        limit?: number
        /** How many to skip */
        offset?: number
      }
      answer: {
        data: Array<{
          /** The action’s name within its tool */
          name: string
          /** How it was described when it was accepted; null where that was not kept */
          accepted: Record<string, unknown> | null
          /** How it is described now; null where that is too long to be kept */
          current: Record<string, unknown> | null
          /** Of the current one, to accept what you have read and nothing else */
          hash: string
          changed_at: string
        }>
        total: number
        limit: number
        offset: number
      }
    }
    /** List the actions of a tool as a model sees them */
    listToolActions: {
      path: {
        tool_id: string
      }
      query?: {
        /** How many to return, at most */
        limit?: number
        /** How many to skip */
        offset?: number
      }
      answer: {
        data: Array<{
          /** namespace:name */
          id: string
          /** The action’s name within its tool */
          name: string
          /** The name that an agent sees */
          tool_name: string
          /** The name that an MCP client sees at a server in direct mode, unless another action there has it already */
          server_tool_name: string
          description: string | null
          app: string
          level: 'open' | 'restricted' | 'administrative'
          auto_approve: boolean
          /** Described otherwise than before, and not accepted yet */
          withheld: boolean
          /** What a caller is asked for: preset fields are gone */
          input_schema: Record<string, unknown>
        }>
        total: number
        limit: number
        offset: number
      }
    }
    /** List tools */
    listTools: {
      query?: {
        project_id?: string
        type?: 'http' | 'client' | 'mcp' | 'platform' | 'soat'
        name?: string
        /** How many to return, at most */
        limit?: number
        /** How many to skip */
        offset?: number
      }
      answer: {
        data: Array<{
          id: string
          project_id: string
          name: string
          type: string
          description: string | null
          parameters: Record<string, unknown> | null
          execute: {
            /** Where to send the request; {name} is replaced by the argument of that name */
            url: string
            method: 'GET' | 'HEAD' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'
            headers?: Record<string, string>
          } | null
          mcp: {
            /** Where the server listens, with Streamable HTTP or SSE */
            url?: string
            /** Sent with every request to it */
            headers?: Record<string, string>
            /** A program that speaks MCP on its standard input and output */
            command?: string
            args?: Array<string>
            env?: Record<string, string>
            cwd?: string
            /** Whether the platform does not start where the server cannot be reached; it is contacted at each start */
            required?: boolean
          } | null
          actions: Array<string> | null
          preset_parameters: Record<string, unknown> | null
          /** The slug that the tool’s actions are filed under */
          app: string
          pin_definitions: boolean
          level: 'open' | 'restricted' | 'administrative'
          /** False: a human decides before each call */
          auto_approve: boolean
          timeout_seconds: number | null
          ask_destructive: boolean
          approval_timeout_seconds: number | null
          created_at: string
          updated_at: string
        }>
        total: number
        limit: number
        offset: number
      }
    }
    /** Ask the MCP server behind a tool anew what it offers, instead of when its list has grown old */
    refreshTool: {
      path: {
        tool_id: string
      }
      answer: {
        /** How many it offers */
        actions: number
        /** Those that are described otherwise than before, and not accepted yet */
        withheld: Array<string>
      }
    }
    /** Change a tool; the result is checked as if it were new */
    updateTool: {
      path: {
        tool_id: string
      }
      body?: {
        /** The name a model sees, or the prefix of its actions’ names; unique within the app */
        name?: string
        type?: 'http' | 'client' | 'mcp' | 'platform' | 'soat'
        /** What a model decides by */
        description?: string | null
        /** JSON Schema of the input */
        parameters?: Record<string, unknown> | null
        /** How an http tool makes its request */
        execute?: {
          /** Where to send the request; {name} is replaced by the argument of that name */
          url: string
          method?: 'GET' | 'HEAD' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'
          headers?: Record<string, string>
        } | null
        /** The server that an mcp tool stands for */
        mcp?: {
          /** Where the server listens, with Streamable HTTP or SSE */
          url?: string
          /** Sent with every request to it */
          headers?: Record<string, string>
          /** A program that speaks MCP on its standard input and output */
          command?: string
          args?: Array<string>
          env?: Record<string, string>
          cwd?: string
          /** Whether the platform does not start where the server cannot be reached; it is contacted at each start */
          required?: boolean
        } | null
        /** Which of the platform’s actions a platform tool offers */
        actions?: Array<string> | null
        /** Values that are fixed, hidden and always win */
        preset_parameters?: Record<string, unknown> | null
        /** The slug that its actions are filed under */
        app?: string | null
        /** Withhold an action of an MCP server that is described otherwise than before, until that is accepted */
        pin_definitions?: boolean
        /** How sensitive it is; above open, a human decides unless auto_approve is set. Platform actions on API keys, access policies and projects are administrative in any case */
        level?: 'open' | 'restricted' | 'administrative'
        /** Whether calls run without a human’s decision */
        auto_approve?: boolean | null
        /** How long a call may take; 60 unless given */
        timeout_seconds?: number | null
        /** Whether a human decides on each call of an action that may destroy something; of an MCP server’s, every one that it does not call harmless */
        ask_destructive?: boolean
        /** How long a human’s decision may take */
        approval_timeout_seconds?: number | null
      }
      answer: {
        id: string
        project_id: string
        name: string
        type: string
        description: string | null
        parameters: Record<string, unknown> | null
        execute: {
          /** Where to send the request; {name} is replaced by the argument of that name */
          url: string
          method: 'GET' | 'HEAD' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'
          headers?: Record<string, string>
        } | null
        mcp: {
          /** Where the server listens, with Streamable HTTP or SSE */
          url?: string
          /** Sent with every request to it */
          headers?: Record<string, string>
          /** A program that speaks MCP on its standard input and output */
          command?: string
          args?: Array<string>
          env?: Record<string, string>
          cwd?: string
          /** Whether the platform does not start where the server cannot be reached; it is contacted at each start */
          required?: boolean
        } | null
        actions: Array<string> | null
        preset_parameters: Record<string, unknown> | null
        /** The slug that the tool’s actions are filed under */
        app: string
        pin_definitions: boolean
        level: 'open' | 'restricted' | 'administrative'
        /** False: a human decides before each call */
        auto_approve: boolean
        timeout_seconds: number | null
        ask_destructive: boolean
        approval_timeout_seconds: number | null
        created_at: string
        updated_at: string
      }
    }
  }
  servers: {
    /** Create an MCP server */
    createServer: {
      body: {
        project_id?: string
        slug: string
        name?: string
        /** Shown to the agents that connect */
        description?: string | null
        /** Off: the endpoint answers 404 */
        enabled?: boolean
        /** Two tools that find and run actions, instead of one tool for each action */
        agent_mode?: boolean
        /** Adds the tools that list and load skills */
        retrieve_skill?: boolean
        /** generated: {app}_{action}_action; original: as the actions are called where they come from */
        tool_names?: 'generated' | 'original'
        /** What it offers; null is everything in the project */
        apps?: Array<{
          slug: string
          actions?: Array<string>
          workflows?: Array<string>
        }> | null
        /** Which skills it offers; null is every one in the project */
        skill_ids?: Array<string> | null
        /** Of a result with more bytes of text a model gets the beginning, and READ_RESULT to read on; null is off */
        result_limit?: number | null
        /** False: a human decides on everything that is called here; otherwise it is as the tools say */
        auto_approve?: boolean | null
        /** How long that decision may take, unless the rule or the tool says */
        approval_timeout_seconds?: number | null
      }
      answer: {
        id: string
        project_id: string
        slug: string
        name: string
        /** Shown to the agents that connect */
        description: string | null
        /** Off: the endpoint answers 404 */
        enabled: boolean
        /** Two tools that find and run actions, instead of one tool for each action */
        agent_mode: boolean
        /** Adds the tools that list and load skills */
        retrieve_skill: boolean
        /** generated: {app}_{action}_action; original: as the actions are called where they come from */
        tool_names: 'generated' | 'original'
        /** What it offers; null is everything in the project */
        apps: Array<{
          slug: string
          actions?: Array<string>
          workflows?: Array<string>
        }> | null
        /** Which skills it offers; null is every one in the project */
        skill_ids: Array<string> | null
        /** Of a result with more bytes of text a model gets the beginning, and READ_RESULT to read on; null is off */
        result_limit: number | null
        /** False: a human decides on everything that is called here; otherwise it is as the tools say */
        auto_approve: boolean | null
        /** How long that decision may take, unless the rule or the tool says */
        approval_timeout_seconds: number | null
        /** The path of the endpoint */
        url: string
        created_at: string
        updated_at: string
      }
    }
    /** Delete an MCP server */
    deleteServer: {
      path: {
        server_id: string
      }
      answer: null
    }
    /** Get an MCP server, by its id or slug */
    getServer: {
      path: {
        server_id: string
      }
      answer: {
        id: string
        project_id: string
        slug: string
        name: string
        /** Shown to the agents that connect */
        description: string | null
        /** Off: the endpoint answers 404 */
        enabled: boolean
        /** Two tools that find and run actions, instead of one tool for each action */
        agent_mode: boolean
        /** Adds the tools that list and load skills */
        retrieve_skill: boolean
        /** generated: {app}_{action}_action; original: as the actions are called where they come from */
        tool_names: 'generated' | 'original'
        /** What it offers; null is everything in the project */
        apps: Array<{
          slug: string
          actions?: Array<string>
          workflows?: Array<string>
        }> | null
        /** Which skills it offers; null is every one in the project */
        skill_ids: Array<string> | null
        /** Of a result with more bytes of text a model gets the beginning, and READ_RESULT to read on; null is off */
        result_limit: number | null
        /** False: a human decides on everything that is called here; otherwise it is as the tools say */
        auto_approve: boolean | null
        /** How long that decision may take, unless the rule or the tool says */
        approval_timeout_seconds: number | null
        /** The path of the endpoint */
        url: string
        created_at: string
        updated_at: string
      }
    }
    /** Tell what the tool list of a server costs a model, in direct and in agent mode */
    getServerFootprint: {
      path: {
        server_id: string
      }
      answer: {
        tokenizer: string
        /** The mode the server is in */
        mode: 'direct' | 'agent'
        direct: {
          /** How many tools a client is told of */
          tools: number
          /** What their names, descriptions and schemas cost a model, in every conversation */
          tokens: number
        }
        agent: {
          /** How many tools a client is told of */
          tools: number
          /** What their names, descriptions and schemas cost a model, in every conversation */
          tokens: number
        }
        advice: {
          mode: 'direct' | 'agent'
          reason: string
        }
      }
    }
    /** List MCP servers */
    listServers: {
      query?: {
        project_id?: string
        /** How many to return, at most */
        limit?: number
        /** How many to skip */
        offset?: number
      }
      answer: {
        data: Array<{
          id: string
          project_id: string
          slug: string
          name: string
          /** Shown to the agents that connect */
          description: string | null
          /** Off: the endpoint answers 404 */
          enabled: boolean
          /** Two tools that find and run actions, instead of one tool for each action */
          agent_mode: boolean
          /** Adds the tools that list and load skills */
          retrieve_skill: boolean
          /** generated: {app}_{action}_action; original: as the actions are called where they come from */
          tool_names: 'generated' | 'original'
          /** What it offers; null is everything in the project */
          apps: Array<{
            slug: string
            actions?: Array<string>
            workflows?: Array<string>
          }> | null
          /** Which skills it offers; null is every one in the project */
          skill_ids: Array<string> | null
          /** Of a result with more bytes of text a model gets the beginning, and READ_RESULT to read on; null is off */
          result_limit: number | null
          /** False: a human decides on everything that is called here; otherwise it is as the tools say */
          auto_approve: boolean | null
          /** How long that decision may take, unless the rule or the tool says */
          approval_timeout_seconds: number | null
          /** The path of the endpoint */
          url: string
          created_at: string
          updated_at: string
        }>
        total: number
        limit: number
        offset: number
      }
    }
    /** Rank the actions of a server for requests in words, as RESOLVE_ACTIONS does */
    resolveActions: {
      path: {
        server_id: string
      }
      body: {
        /** One entry for each action: a short description and the app */
        integration_query: Array<string>
        limit?: number
      }
      answer: {
        results: Array<{
          query: string
          candidates: Array<{
            slug: string
            type: 'action' | 'workflow'
            identifier: string
            /** Between 0 and 1; below one half, RESOLVE_ACTIONS does not take it for a match */
            score: number
            /** What spoke for and against it */
            features: Record<string, number>
          }>
        }>
      }
    }
    /** Change an MCP server */
    updateServer: {
      path: {
        server_id: string
      }
      body?: {
        slug?: string
        name?: string
        /** Shown to the agents that connect */
        description?: string | null
        /** Off: the endpoint answers 404 */
        enabled?: boolean
        /** Two tools that find and run actions, instead of one tool for each action */
        agent_mode?: boolean
        /** Adds the tools that list and load skills */
        retrieve_skill?: boolean
        /** generated: {app}_{action}_action; original: as the actions are called where they come from */
        tool_names?: 'generated' | 'original'
        /** What it offers; null is everything in the project */
        apps?: Array<{
          slug: string
          actions?: Array<string>
          workflows?: Array<string>
        }> | null
        /** Which skills it offers; null is every one in the project */
        skill_ids?: Array<string> | null
        /** Of a result with more bytes of text a model gets the beginning, and READ_RESULT to read on; null is off */
        result_limit?: number | null
        /** False: a human decides on everything that is called here; otherwise it is as the tools say */
        auto_approve?: boolean | null
        /** How long that decision may take, unless the rule or the tool says */
        approval_timeout_seconds?: number | null
      }
      answer: {
        id: string
        project_id: string
        slug: string
        name: string
        /** Shown to the agents that connect */
        description: string | null
        /** Off: the endpoint answers 404 */
        enabled: boolean
        /** Two tools that find and run actions, instead of one tool for each action */
        agent_mode: boolean
        /** Adds the tools that list and load skills */
        retrieve_skill: boolean
        /** generated: {app}_{action}_action; original: as the actions are called where they come from */
        tool_names: 'generated' | 'original'
        /** What it offers; null is everything in the project */
        apps: Array<{
          slug: string
          actions?: Array<string>
          workflows?: Array<string>
        }> | null
        /** Which skills it offers; null is every one in the project */
        skill_ids: Array<string> | null
        /** Of a result with more bytes of text a model gets the beginning, and READ_RESULT to read on; null is off */
        result_limit: number | null
        /** False: a human decides on everything that is called here; otherwise it is as the tools say */
        auto_approve: boolean | null
        /** How long that decision may take, unless the rule or the tool says */
        approval_timeout_seconds: number | null
        /** The path of the endpoint */
        url: string
        created_at: string
        updated_at: string
      }
    }
  }
  skills: {
    /** Create a skill */
    createSkill: {
      body: {
        project_id?: string
        name: string
        /** The procedure, in Markdown */
        content: string
        /** One or two sentences by which an agent decides whether to load it */
        summary?: string
        category?: string | null
        /** Slugs of the apps that it is about */
        apps?: Array<string>
        enabled?: boolean
      }
      answer: {
        id: string
        project_id: string
        name: string
        /** One or two sentences by which an agent decides whether to load it */
        summary: string
        category: string | null
        /** Slugs of the apps that it is about */
        apps: Array<string>
        /** The procedure, in Markdown */
        content: string
        enabled: boolean
        created_at: string
        updated_at: string
      }
    }
    /** Delete a skill */
    deleteSkill: {
      path: {
        skill_id: string
      }
      answer: null
    }
    /** Get a skill as a SKILL.md file */
    exportSkill: {
      path: {
        skill_id: string
      }
      answer: {
        path: string
        content: string
      }
    }
    /** Get a skill */
    getSkill: {
      path: {
        skill_id: string
      }
      answer: {
        id: string
        project_id: string
        name: string
        /** One or two sentences by which an agent decides whether to load it */
        summary: string
        category: string | null
        /** Slugs of the apps that it is about */
        apps: Array<string>
        /** The procedure, in Markdown */
        content: string
        enabled: boolean
        created_at: string
        updated_at: string
      }
    }
    /** Take over skills from folders with a SKILL.md; one of the same name is replaced */
    importSkills: {
      body: {
        project_id?: string
        /** The text of each file, by its path */
        files: Record<string, string>
      }
      answer: {
        created: Array<{
          id: string
          project_id: string
          name: string
          /** One or two sentences by which an agent decides whether to load it */
          summary: string
          category: string | null
          /** Slugs of the apps that it is about */
          apps: Array<string>
          /** The procedure, in Markdown */
          content: string
          enabled: boolean
          created_at: string
          updated_at: string
        }>
        updated: Array<{
          id: string
          project_id: string
          name: string
          /** One or two sentences by which an agent decides whether to load it */
          summary: string
          category: string | null
          /** Slugs of the apps that it is about */
          apps: Array<string>
          /** The procedure, in Markdown */
          content: string
          enabled: boolean
          created_at: string
          updated_at: string
        }>
        skipped: Array<{
          path: string
          reason: string
        }>
        /** What the front matter of those that were taken over says, and the skills do not */
        not_taken_over: Array<{
          path: string
          field: string
        }>
      }
    }
    /** List skills */
    listSkills: {
      query?: {
        project_id?: string
        /** How many to return, at most */
        limit?: number
        /** How many to skip */
        offset?: number
      }
      answer: {
        data: Array<{
          id: string
          project_id: string
          name: string
          /** One or two sentences by which an agent decides whether to load it */
          summary: string
          category: string | null
          /** Slugs of the apps that it is about */
          apps: Array<string>
          /** The procedure, in Markdown */
          content: string
          enabled: boolean
          created_at: string
          updated_at: string
        }>
        total: number
        limit: number
        offset: number
      }
    }
    /** Change a skill */
    updateSkill: {
      path: {
        skill_id: string
      }
      body?: {
        name?: string
        /** One or two sentences by which an agent decides whether to load it */
        summary?: string
        category?: string | null
        /** Slugs of the apps that it is about */
        apps?: Array<string>
        /** The procedure, in Markdown */
        content?: string
        enabled?: boolean
      }
      answer: {
        id: string
        project_id: string
        name: string
        /** One or two sentences by which an agent decides whether to load it */
        summary: string
        category: string | null
        /** Slugs of the apps that it is about */
        apps: Array<string>
        /** The procedure, in Markdown */
        content: string
        enabled: boolean
        created_at: string
        updated_at: string
      }
    }
  }
  aiProviders: {
    /** Say where language models are asked */
    createAiProvider: {
      body: {
        project_id?: string
        name: string
        type: 'openai-compatible' | 'openai' | 'anthropic' | 'google' | 'replay'
        /** Where the API begins, as in https://api.openai.com/v1; openai-compatible needs it */
        base_url?: string | null
        /** The model of agents that name none */
        default_model?: string | null
        /** US dollars per million tokens, by model; "*" is for every other one */
        prices?: Record<string, {
          input: number
          output: number
          /** Of input that the provider had kept; input unless given */
          cached_input?: number
        }> | null
        /** Whether its answers are recorded into a script that replay can play */
        record?: boolean
        /** How long it may send nothing */
        timeout_seconds?: number
        /** How often a request is repeated that the provider could not take */
        max_retries?: number
        /** Kept sealed, never returned */
        api_key?: string | null
        /** Sent with every request; the values are kept sealed and never returned */
        headers?: Record<string, string> | null
        /** What a replay provider answers: a script in YAML or JSON */
        script?: string | Record<string, unknown> | null
      }
      answer: {
        id: string
        project_id: string
        name: string
        type: 'openai-compatible' | 'openai' | 'anthropic' | 'google' | 'replay'
        /** Where the API begins, as in https://api.openai.com/v1; openai-compatible needs it */
        base_url: string | null
        /** The model of agents that name none */
        default_model: string | null
        /** US dollars per million tokens, by model; "*" is for every other one */
        prices: Record<string, {
          input: number
          output: number
          /** Of input that the provider had kept; input unless given */
          cached_input?: number
        }> | null
        /** Whether its answers are recorded into a script that replay can play */
        record: boolean
        /** How long it may send nothing */
        timeout_seconds: number
        /** How often a request is repeated that the provider could not take */
        max_retries: number
        has_api_key: boolean
        /** The key’s last characters */
        api_key_hint: string | null
        /** Their names; the values are hidden */
        headers: Record<string, string> | null
        script: string | null
        created_at: string
        updated_at: string
      }
    }
    /** Delete an AI provider that no agent uses */
    deleteAiProvider: {
      path: {
        ai_provider_id: string
      }
      answer: null
    }
    /** Delete what was recorded of a provider */
    deleteAiProviderRecording: {
      path: {
        ai_provider_id: string
      }
      answer: null
    }
    /** Get an AI provider; its key is never shown */
    getAiProvider: {
      path: {
        ai_provider_id: string
      }
      answer: {
        id: string
        project_id: string
        name: string
        type: 'openai-compatible' | 'openai' | 'anthropic' | 'google' | 'replay'
        /** Where the API begins, as in https://api.openai.com/v1; openai-compatible needs it */
        base_url: string | null
        /** The model of agents that name none */
        default_model: string | null
        /** US dollars per million tokens, by model; "*" is for every other one */
        prices: Record<string, {
          input: number
          output: number
          /** Of input that the provider had kept; input unless given */
          cached_input?: number
        }> | null
        /** Whether its answers are recorded into a script that replay can play */
        record: boolean
        /** How long it may send nothing */
        timeout_seconds: number
        /** How often a request is repeated that the provider could not take */
        max_retries: number
        has_api_key: boolean
        /** The key’s last characters */
        api_key_hint: string | null
        /** Their names; the values are hidden */
        headers: Record<string, string> | null
        script: string | null
        created_at: string
        updated_at: string
      }
    }
    /** Get what a provider with "record" has answered, as a script that a replay provider plays */
    getAiProviderRecording: {
      path: {
        ai_provider_id: string
      }
      answer: {
        steps: number
        /** YAML; null while nothing is recorded */
        script: string | null
      }
    }
    /** List AI providers, without their scripts */
    listAiProviders: {
      query?: {
        project_id?: string
        /** How many to return, at most */
        limit?: number
        /** How many to skip */
        offset?: number
      }
      answer: {
        data: Array<{
          id: string
          project_id: string
          name: string
          type: 'openai-compatible' | 'openai' | 'anthropic' | 'google' | 'replay'
          /** Where the API begins, as in https://api.openai.com/v1; openai-compatible needs it */
          base_url: string | null
          /** The model of agents that name none */
          default_model: string | null
          /** US dollars per million tokens, by model; "*" is for every other one */
          prices: Record<string, {
            input: number
            output: number
            /** Of input that the provider had kept; input unless given */
            cached_input?: number
          }> | null
          /** Whether its answers are recorded into a script that replay can play */
          record: boolean
          /** How long it may send nothing */
          timeout_seconds: number
          /** How often a request is repeated that the provider could not take */
          max_retries: number
          has_api_key: boolean
          /** The key’s last characters */
          api_key_hint: string | null
          /** Their names; the values are hidden */
          headers: Record<string, string> | null
          created_at: string
          updated_at: string
        }>
        total: number
        limit: number
        offset: number
      }
    }
    /** Ask the model for one word, and see what is wrong if none comes */
    testAiProvider: {
      path: {
        ai_provider_id: string
      }
      body?: {
        /** Which model; the provider’s default unless given */
        model?: string
      }
      answer: {
        ok: boolean
        model: string | null
        /** What the model answered */
        text: string | null
        duration_ms: number
        /** What is wrong, and what to do about it */
        error: {
          code: string
          message: string
          details: Record<string, unknown>
        } | null
      }
    }
    /** Change an AI provider; whoever points it elsewhere sends its key anew */
    updateAiProvider: {
      path: {
        ai_provider_id: string
      }
      body?: {
        name?: string
        type?: 'openai-compatible' | 'openai' | 'anthropic' | 'google' | 'replay'
        /** Where the API begins, as in https://api.openai.com/v1; openai-compatible needs it */
        base_url?: string | null
        /** The model of agents that name none */
        default_model?: string | null
        /** US dollars per million tokens, by model; "*" is for every other one */
        prices?: Record<string, {
          input: number
          output: number
          /** Of input that the provider had kept; input unless given */
          cached_input?: number
        }> | null
        /** Whether its answers are recorded into a script that replay can play */
        record?: boolean
        /** How long it may send nothing */
        timeout_seconds?: number
        /** How often a request is repeated that the provider could not take */
        max_retries?: number
        /** Kept sealed, never returned */
        api_key?: string | null
        /** Sent with every request; the values are kept sealed and never returned */
        headers?: Record<string, string> | null
        /** What a replay provider answers: a script in YAML or JSON */
        script?: string | Record<string, unknown> | null
      }
      answer: {
        id: string
        project_id: string
        name: string
        type: 'openai-compatible' | 'openai' | 'anthropic' | 'google' | 'replay'
        /** Where the API begins, as in https://api.openai.com/v1; openai-compatible needs it */
        base_url: string | null
        /** The model of agents that name none */
        default_model: string | null
        /** US dollars per million tokens, by model; "*" is for every other one */
        prices: Record<string, {
          input: number
          output: number
          /** Of input that the provider had kept; input unless given */
          cached_input?: number
        }> | null
        /** Whether its answers are recorded into a script that replay can play */
        record: boolean
        /** How long it may send nothing */
        timeout_seconds: number
        /** How often a request is repeated that the provider could not take */
        max_retries: number
        has_api_key: boolean
        /** The key’s last characters */
        api_key_hint: string | null
        /** Their names; the values are hidden */
        headers: Record<string, string> | null
        script: string | null
        created_at: string
        updated_at: string
      }
    }
  }
  agents: {
    /** Stop a generation; what its calls have done stays done */
    cancelGeneration: {
      path: {
        generation_id: string
      }
      answer: {
        id: string
        generation_id: string
        agent_id: string
        trace_id: string
        status: 'in_progress' | 'requires_action' | 'completed' | 'failed' | 'cancelled'
        stop_reason: 'end_turn' | 'max_steps' | 'stop_condition' | 'depth_limit' | 'cancelled' | 'error' | null
        output?: {
          model: string | null
          content: string
          finish_reason: string | null
        }
        required_action?: {
          /** Outputs come from the caller; a decision comes from a reviewer */
          type: 'submit_tool_outputs' | 'decide_approvals'
          tool_calls: Array<{
            tool_call_id: string
            tool_name: string
            args: Record<string, unknown>
            /** The run that it belongs to, where that is one this one has started */
            generation_id?: string
          }>
          approvals?: Array<{
            approval_id: string
            tool_call_id: string
            tool_name: string
            expires_at: string
          }>
        }
        error?: {
          code: string
          message: string
          details: Record<string, unknown>
        }
        usage: {
          input_tokens: number
          output_tokens: number
          /** In US dollars, where the provider’s prices are known */
          cost: number | null
        }
      }
    }
    /** Create an agent: a model with instructions and tools */
    createAgent: {
      body: {
        project_id?: string
        name: string
        /** Who answers for it */
        ai_provider_id: string
        /** Which model; the provider’s default unless given */
        model?: string | null
        /** What the model is told first */
        instructions?: string | null
        /** What it can call */
        tool_ids?: Array<string>
        /** Which of those the model may call; all of them unless given */
        active_tool_ids?: Array<string> | null
        /** Whether the model must call a tool, or which one */
        tool_choice?: 'auto' | 'required' | 'none' | {
          type: 'tool'
          tool_name: string
        }
        /** Any of these ends the run */
        stop_conditions?: Array<{
          type: 'hasToolCall'
          tool_name: string
        }>
        /** What is different at some steps */
        step_rules?: Array<{
          /** Counted from 1 */
          step: number
          tool_choice?: 'auto' | 'required' | 'none' | {
            type: 'tool'
            tool_name: string
          }
          active_tool_ids?: Array<string>
        }>
        /** The run ends after so many */
        max_steps?: number
        temperature?: number | null
        /** What platform tools may do at most, whoever runs the agent: both this and the caller’s policies must allow it */
        boundary_policy?: {
          statement: Array<{
            effect: 'Allow' | 'Deny'
            action: Array<string> | string
            resource?: Array<string> | string
            condition?: {
              StringEquals?: Record<string, string | Array<string>>
              StringNotEquals?: Record<string, string | Array<string>>
              StringLike?: Record<string, string | Array<string>>
            }
          }>
        } | null
        /** How many of the latest messages the model sees; all of them unless given */
        max_context_messages?: number | null
      }
      answer: {
        id: string
        project_id: string
        name: string
        /** Who answers for it */
        ai_provider_id: string
        /** Which model; the provider’s default unless given */
        model: string | null
        /** What the model is told first */
        instructions: string | null
        /** What it can call */
        tool_ids: Array<string>
        /** Which of those the model may call; all of them unless given */
        active_tool_ids: Array<string> | null
        /** Whether the model must call a tool, or which one */
        tool_choice: 'auto' | 'required' | 'none' | {
          type: 'tool'
          tool_name: string
        }
        /** Any of these ends the run */
        stop_conditions: Array<{
          type: 'hasToolCall'
          tool_name: string
        }>
        /** What is different at some steps */
        step_rules: Array<{
          /** Counted from 1 */
          step: number
          tool_choice?: 'auto' | 'required' | 'none' | {
            type: 'tool'
            tool_name: string
          }
          active_tool_ids?: Array<string>
        }>
        /** The run ends after so many */
        max_steps: number
        temperature: number | null
        /** What platform tools may do at most, whoever runs the agent: both this and the caller’s policies must allow it */
        boundary_policy: {
          statement: Array<{
            effect: 'Allow' | 'Deny'
            action: Array<string> | unknown
            resource: Array<string> | unknown
            condition?: {
              StringEquals?: Record<string, string | Array<string>>
              StringNotEquals?: Record<string, string | Array<string>>
              StringLike?: Record<string, string | Array<string>>
            }
          }>
        } | null
        /** How many of the latest messages the model sees; all of them unless given */
        max_context_messages: number | null
        created_at: string
        updated_at: string
      }
    }
    /** Run an agent until it has answered, or needs something */
    createAgentGeneration: {
      path: {
        agent_id: string
      }
      body?: {
        /** What to do; after the messages, if there are some */
        prompt?: string
        /** A conversation to go on with */
        messages?: Array<{
          role: 'system' | 'user'
          content: string | Array<{
            type: 'text'
            text: string
          } | {
            type: 'image'
            media_type: string
            data: string
          } | {
            type: 'image_url'
            url: string
          }> | {
            type: 'document'
            document_id: string
          } | {
            type: 'tool_output'
            tool_id: string
            action?: string
            /** The arguments */
            input?: Record<string, unknown>
            output_path?: string
          }
        } | {
          role: 'assistant'
          content: string | null
          tool_calls?: Array<{
            id: string
            name: string
            /** The arguments */
            args?: string | Record<string, unknown>
          }>
        } | {
          role: 'tool'
          tool_call_id: string
          tool_name: string
          output: unknown
          is_error?: boolean
        }>
        tool_choice?: 'auto' | 'required' | 'none' | {
          type: 'tool'
          tool_name: string
        }
        active_tool_ids?: Array<string>
        step_rules?: Array<{
          /** Counted from 1 */
          step: number
          tool_choice?: 'auto' | 'required' | 'none' | {
            type: 'tool'
            tool_name: string
          }
          active_tool_ids?: Array<string>
        }>
        /** Any of these ends the run */
        stop_conditions?: Array<{
          type: 'hasToolCall'
          tool_name: string
        }>
        /** The run ends after so many */
        max_steps?: number
        /** How deep agents may call agents */
        max_call_depth?: number
        /** Sent along to http and mcp tools as X-Quartermaster-Context-<key> headers */
        tool_context?: Record<string, string>
        /** Answer with server-sent events, as they come */
        stream?: boolean
        /** openai: chunks that OpenAI’s clients read; events: everything that happens */
        stream_format?: 'openai' | 'events'
        /** Answer 202 at once; look at the generation, or have a webhook told */
        async?: boolean
      }
      answer: {
        id: string
        generation_id: string
        agent_id: string
        trace_id: string
        status: 'in_progress' | 'requires_action' | 'completed' | 'failed' | 'cancelled'
        stop_reason: 'end_turn' | 'max_steps' | 'stop_condition' | 'depth_limit' | 'cancelled' | 'error' | null
        output?: {
          model: string | null
          content: string
          finish_reason: string | null
        }
        required_action?: {
          /** Outputs come from the caller; a decision comes from a reviewer */
          type: 'submit_tool_outputs' | 'decide_approvals'
          tool_calls: Array<{
            tool_call_id: string
            tool_name: string
            args: Record<string, unknown>
            /** The run that it belongs to, where that is one this one has started */
            generation_id?: string
          }>
          approvals?: Array<{
            approval_id: string
            tool_call_id: string
            tool_name: string
            expires_at: string
          }>
        }
        error?: {
          code: string
          message: string
          details: Record<string, unknown>
        }
        usage: {
          input_tokens: number
          output_tokens: number
          /** In US dollars, where the provider’s prices are known */
          cost: number | null
        }
      }
    }
    /** Delete an agent; the record of what it did stays */
    deleteAgent: {
      path: {
        agent_id: string
      }
      answer: null
    }
    /** Get an agent */
    getAgent: {
      path: {
        agent_id: string
      }
      answer: {
        id: string
        project_id: string
        name: string
        /** Who answers for it */
        ai_provider_id: string
        /** Which model; the provider’s default unless given */
        model: string | null
        /** What the model is told first */
        instructions: string | null
        /** What it can call */
        tool_ids: Array<string>
        /** Which of those the model may call; all of them unless given */
        active_tool_ids: Array<string> | null
        /** Whether the model must call a tool, or which one */
        tool_choice: 'auto' | 'required' | 'none' | {
          type: 'tool'
          tool_name: string
        }
        /** Any of these ends the run */
        stop_conditions: Array<{
          type: 'hasToolCall'
          tool_name: string
        }>
        /** What is different at some steps */
        step_rules: Array<{
          /** Counted from 1 */
          step: number
          tool_choice?: 'auto' | 'required' | 'none' | {
            type: 'tool'
            tool_name: string
          }
          active_tool_ids?: Array<string>
        }>
        /** The run ends after so many */
        max_steps: number
        temperature: number | null
        /** What platform tools may do at most, whoever runs the agent: both this and the caller’s policies must allow it */
        boundary_policy: {
          statement: Array<{
            effect: 'Allow' | 'Deny'
            action: Array<string> | unknown
            resource: Array<string> | unknown
            condition?: {
              StringEquals?: Record<string, string | Array<string>>
              StringNotEquals?: Record<string, string | Array<string>>
              StringLike?: Record<string, string | Array<string>>
            }
          }>
        } | null
        /** How many of the latest messages the model sees; all of them unless given */
        max_context_messages: number | null
        created_at: string
        updated_at: string
      }
    }
    /** Get a generation whole: each step, each call, and what it came to */
    getGeneration: {
      path: {
        generation_id: string
      }
      answer: {
        id: string
        project_id: string
        agent_id: string
        /** The same for a run and all that it started */
        trace_id: string
        /** The run whose call started this one */
        initiator_generation_id: string | null
        parent_call_id: string | null
        status: 'in_progress' | 'requires_action' | 'completed' | 'failed' | 'cancelled'
        stop_reason: 'end_turn' | 'max_steps' | 'stop_condition' | 'depth_limit' | 'cancelled' | 'error' | null
        /** Why the model ended its last answer */
        finish_reason: string | null
        model: string | null
        steps: number
        usage: {
          input_tokens: number
          output_tokens: number
          /** In US dollars, where the provider’s prices are known */
          cost: number | null
        }
        error: {
          code: string
          message: string
          details: Record<string, unknown>
        } | null
        started_by: {
          id: string
          name: string
        }
        started_at: string
        last_activity_at: string
        completed_at: string | null
        created_at: string
        /** The messages it started with */
        input: Array<unknown>
        output?: {
          model: string | null
          content: string
          finish_reason: string | null
        }
        required_action?: {
          /** Outputs come from the caller; a decision comes from a reviewer */
          type: 'submit_tool_outputs' | 'decide_approvals'
          tool_calls: Array<{
            tool_call_id: string
            tool_name: string
            args: Record<string, unknown>
            /** The run that it belongs to, where that is one this one has started */
            generation_id?: string
          }>
          approvals?: Array<{
            approval_id: string
            tool_call_id: string
            tool_name: string
            expires_at: string
          }>
        }
        step_list: Array<{
          number: number
          model: string | null
          text: string | null
          reasoning: string | null
          finish_reason: string | null
          usage: {
            input_tokens: number
            output_tokens: number
            /** In US dollars, where the provider’s prices are known */
            cost: number | null
          } | null
          started_at: string
          answered_at: string | null
          calls: Array<{
            call_id: string
            tool_call_id: string
            tool_name: string
            tool_id: string | null
            action: string | null
            args: unknown
            status: 'running' | 'awaiting_client' | 'awaiting_approval' | 'awaiting_generation' | 'done' | 'failed'
            output: unknown
            approval_id: string | null
            /** The run that it started */
            generation_id: string | null
            started_at: string
            completed_at: string | null
          }>
        }>
      }
    }
    /** Get a generation with all that it started, as a tree */
    getGenerationTrace: {
      path: {
        generation_id: string
      }
      answer: Record<string, unknown>
    }
    /** List agents */
    listAgents: {
      query?: {
        project_id?: string
        name?: string
        /** How many to return, at most */
        limit?: number
        /** How many to skip */
        offset?: number
      }
      answer: {
        data: Array<{
          id: string
          project_id: string
          name: string
          /** Who answers for it */
          ai_provider_id: string
          /** Which model; the provider’s default unless given */
          model: string | null
          /** What the model is told first */
          instructions: string | null
          /** What it can call */
          tool_ids: Array<string>
          /** Which of those the model may call; all of them unless given */
          active_tool_ids: Array<string> | null
          /** Whether the model must call a tool, or which one */
          tool_choice: 'auto' | 'required' | 'none' | {
            type: 'tool'
            tool_name: string
          }
          /** Any of these ends the run */
          stop_conditions: Array<{
            type: 'hasToolCall'
            tool_name: string
          }>
          /** What is different at some steps */
          step_rules: Array<{
            /** Counted from 1 */
            step: number
            tool_choice?: 'auto' | 'required' | 'none' | {
              type: 'tool'
              tool_name: string
            }
            active_tool_ids?: Array<string>
          }>
          /** The run ends after so many */
          max_steps: number
          temperature: number | null
          /** What platform tools may do at most, whoever runs the agent: both this and the caller’s policies must allow it */
          boundary_policy: {
            statement: Array<{
              effect: 'Allow' | 'Deny'
              action: Array<string> | unknown
              resource: Array<string> | unknown
              condition?: {
                StringEquals?: Record<string, string | Array<string>>
                StringNotEquals?: Record<string, string | Array<string>>
                StringLike?: Record<string, string | Array<string>>
              }
            }>
          } | null
          /** How many of the latest messages the model sees; all of them unless given */
          max_context_messages: number | null
          created_at: string
          updated_at: string
        }>
        total: number
        limit: number
        offset: number
      }
    }
    /** List generations, newest first */
    listGenerations: {
      query?: {
        project_id?: string
        agent_id?: string
        status?: 'in_progress' | 'requires_action' | 'completed' | 'failed' | 'cancelled'
        trace_id?: string
        /** How many to return, at most */
        limit?: number
        /** How many to skip */
        offset?: number
      }
      answer: {
        data: Array<{
          id: string
          project_id: string
          agent_id: string
          /** The same for a run and all that it started */
          trace_id: string
          /** The run whose call started this one */
          initiator_generation_id: string | null
          parent_call_id: string | null
          status: 'in_progress' | 'requires_action' | 'completed' | 'failed' | 'cancelled'
          stop_reason: 'end_turn' | 'max_steps' | 'stop_condition' | 'depth_limit' | 'cancelled' | 'error' | null
          /** Why the model ended its last answer */
          finish_reason: string | null
          model: string | null
          steps: number
          usage: {
            input_tokens: number
            output_tokens: number
            /** In US dollars, where the provider’s prices are known */
            cost: number | null
          }
          error: {
            code: string
            message: string
            details: Record<string, unknown>
          } | null
          started_by: {
            id: string
            name: string
          }
          started_at: string
          last_activity_at: string
          completed_at: string | null
          created_at: string
        }>
        total: number
        limit: number
        offset: number
      }
    }
    /** Give a generation what the caller’s own tools answered, and let it go on */
    submitToolOutputs: {
      path: {
        agent_id: string
        generation_id: string
      }
      body: {
        tool_outputs: Array<{
          tool_call_id?: string
          /** The same as tool_call_id */
          id?: string
          /** As in required_action, where it is there */
          generation_id?: string
          output: unknown
          /** The tool failed, and the output says how */
          is_error?: boolean
        }>
        tool_choice?: 'auto' | 'required' | 'none' | {
          type: 'tool'
          tool_name: string
        }
        active_tool_ids?: Array<string>
        step_rules?: Array<{
          /** Counted from 1 */
          step: number
          tool_choice?: 'auto' | 'required' | 'none' | {
            type: 'tool'
            tool_name: string
          }
          active_tool_ids?: Array<string>
        }>
        /** For all steps that nothing else is said of */
        defaults?: {
          tool_choice?: 'auto' | 'required' | 'none' | {
            type: 'tool'
            tool_name: string
          }
          active_tool_ids?: Array<string>
        }
        stream?: boolean
        stream_format?: 'openai' | 'events'
        async?: boolean
      }
      answer: {
        id: string
        generation_id: string
        agent_id: string
        trace_id: string
        status: 'in_progress' | 'requires_action' | 'completed' | 'failed' | 'cancelled'
        stop_reason: 'end_turn' | 'max_steps' | 'stop_condition' | 'depth_limit' | 'cancelled' | 'error' | null
        output?: {
          model: string | null
          content: string
          finish_reason: string | null
        }
        required_action?: {
          /** Outputs come from the caller; a decision comes from a reviewer */
          type: 'submit_tool_outputs' | 'decide_approvals'
          tool_calls: Array<{
            tool_call_id: string
            tool_name: string
            args: Record<string, unknown>
            /** The run that it belongs to, where that is one this one has started */
            generation_id?: string
          }>
          approvals?: Array<{
            approval_id: string
            tool_call_id: string
            tool_name: string
            expires_at: string
          }>
        }
        error?: {
          code: string
          message: string
          details: Record<string, unknown>
        }
        usage: {
          input_tokens: number
          output_tokens: number
          /** In US dollars, where the provider’s prices are known */
          cost: number | null
        }
      }
    }
    /** Change an agent; runs that have started go on as they were */
    updateAgent: {
      path: {
        agent_id: string
      }
      body?: {
        name?: string
        /** Who answers for it */
        ai_provider_id?: string
        /** Which model; the provider’s default unless given */
        model?: string | null
        /** What the model is told first */
        instructions?: string | null
        /** What it can call */
        tool_ids?: Array<string>
        /** Which of those the model may call; all of them unless given */
        active_tool_ids?: Array<string> | null
        /** Whether the model must call a tool, or which one */
        tool_choice?: 'auto' | 'required' | 'none' | {
          type: 'tool'
          tool_name: string
        }
        /** Any of these ends the run */
        stop_conditions?: Array<{
          type: 'hasToolCall'
          tool_name: string
        }>
        /** What is different at some steps */
        step_rules?: Array<{
          /** Counted from 1 */
          step: number
          tool_choice?: 'auto' | 'required' | 'none' | {
            type: 'tool'
            tool_name: string
          }
          active_tool_ids?: Array<string>
        }>
        /** The run ends after so many */
        max_steps?: number
        temperature?: number | null
        /** What platform tools may do at most, whoever runs the agent: both this and the caller’s policies must allow it */
        boundary_policy?: {
          statement: Array<{
            effect: 'Allow' | 'Deny'
            action: Array<string> | string
            resource?: Array<string> | string
            condition?: {
              StringEquals?: Record<string, string | Array<string>>
              StringNotEquals?: Record<string, string | Array<string>>
              StringLike?: Record<string, string | Array<string>>
            }
          }>
        } | null
        /** How many of the latest messages the model sees; all of them unless given */
        max_context_messages?: number | null
      }
      answer: {
        id: string
        project_id: string
        name: string
        /** Who answers for it */
        ai_provider_id: string
        /** Which model; the provider’s default unless given */
        model: string | null
        /** What the model is told first */
        instructions: string | null
        /** What it can call */
        tool_ids: Array<string>
        /** Which of those the model may call; all of them unless given */
        active_tool_ids: Array<string> | null
        /** Whether the model must call a tool, or which one */
        tool_choice: 'auto' | 'required' | 'none' | {
          type: 'tool'
          tool_name: string
        }
        /** Any of these ends the run */
        stop_conditions: Array<{
          type: 'hasToolCall'
          tool_name: string
        }>
        /** What is different at some steps */
        step_rules: Array<{
          /** Counted from 1 */
          step: number
          tool_choice?: 'auto' | 'required' | 'none' | {
            type: 'tool'
            tool_name: string
          }
          active_tool_ids?: Array<string>
        }>
        /** The run ends after so many */
        max_steps: number
        temperature: number | null
        /** What platform tools may do at most, whoever runs the agent: both this and the caller’s policies must allow it */
        boundary_policy: {
          statement: Array<{
            effect: 'Allow' | 'Deny'
            action: Array<string> | unknown
            resource: Array<string> | unknown
            condition?: {
              StringEquals?: Record<string, string | Array<string>>
              StringNotEquals?: Record<string, string | Array<string>>
              StringLike?: Record<string, string | Array<string>>
            }
          }>
        } | null
        /** How many of the latest messages the model sees; all of them unless given */
        max_context_messages: number | null
        created_at: string
        updated_at: string
      }
    }
    /** Hear of all that a generation does, as server-sent events, until it rests */
    watchGeneration: {
      path: {
        generation_id: string
      }
      answer: AsyncIterable<ServerEvent<Record<string, unknown>>>
    }
  }
  documents: {
    /** Create a text document */
    createDocument: {
      body: {
        project_id?: string
        path: string
        content: string
        tags?: Record<string, string>
      }
      answer: {
        id: string
        project_id: string
        path: string
        content: string
        tags: Record<string, string>
        /** Bytes of the content in UTF-8 */
        size: number
        created_at: string
        updated_at: string
      }
    }
    /** Delete a document */
    deleteDocument: {
      path: {
        document_id: string
      }
      answer: null
    }
    /** Get a document */
    getDocument: {
      path: {
        document_id: string
      }
      answer: {
        id: string
        project_id: string
        path: string
        content: string
        tags: Record<string, string>
        /** Bytes of the content in UTF-8 */
        size: number
        created_at: string
        updated_at: string
      }
    }
    /** List documents, without their text */
    listDocuments: {
      query?: {
        project_id?: string
        path_prefix?: string
        /** How many to return, at most */
        limit?: number
        /** How many to skip */
        offset?: number
      }
      answer: {
        data: Array<{
          id: string
          project_id: string
          path: string
          tags: Record<string, string>
          /** Bytes of the content in UTF-8 */
          size: number
          created_at: string
          updated_at: string
        }>
        total: number
        limit: number
        offset: number
      }
    }
    /** Find documents by the words in them, best first */
    searchDocuments: {
      body: {
        project_id?: string
        /** What to look for, in plain words */
        query: string
        /** How many to return, at most */
        limit?: number
      }
      answer: {
        data: Array<{
          id: string
          project_id: string
          path: string
          tags: Record<string, string>
          /** Bytes of the content in UTF-8 */
          size: number
          created_at: string
          updated_at: string
          /** Higher fits better; comparable within one answer only */
          score: number
          /** The part of the text that fits, matches in **bold** */
          snippet: string
        }>
        total: number
        limit: number
        offset: number
      }
    }
    /** Change a document */
    updateDocument: {
      path: {
        document_id: string
      }
      body?: {
        path?: string
        content?: string
        tags?: Record<string, string>
      }
      answer: {
        id: string
        project_id: string
        path: string
        content: string
        tags: Record<string, string>
        /** Bytes of the content in UTF-8 */
        size: number
        created_at: string
        updated_at: string
      }
    }
  }
  files: {
    /** Create a file; large content is sent with upload-file afterwards */
    createFile: {
      body: {
        project_id?: string
        path: string
        /** The content as text, or in base64 */
        content?: string
        encoding?: 'utf8' | 'base64'
        content_type?: string
        tags?: Record<string, string>
      }
      answer: {
        id: string
        project_id: string
        path: string
        content_type: string
        tags: Record<string, string>
        size: number
        sha256: string
        created_at: string
        updated_at: string
      }
    }
    /** Delete a file */
    deleteFile: {
      path: {
        file_id: string
      }
      answer: null
    }
    /** Get the content of a file, or the part that a Range header names */
    downloadFile: {
      path: {
        file_id: string
      }
      answer: ReadableStream<Uint8Array>
    }
    /** Get what is known of a file */
    getFile: {
      path: {
        file_id: string
      }
      answer: {
        id: string
        project_id: string
        path: string
        content_type: string
        tags: Record<string, string>
        size: number
        sha256: string
        created_at: string
        updated_at: string
      }
    }
    /** List files */
    listFiles: {
      query?: {
        project_id?: string
        /** How many to return, at most */
        limit?: number
        /** How many to skip */
        offset?: number
      }
      answer: {
        data: Array<{
          id: string
          project_id: string
          path: string
          content_type: string
          tags: Record<string, string>
          size: number
          sha256: string
          created_at: string
          updated_at: string
        }>
        total: number
        limit: number
        offset: number
      }
    }
    /** Read a part of a file as text or base64 */
    readFile: {
      path: {
        file_id: string
      }
      query?: {
        encoding?: 'utf8' | 'base64'
        /** The first byte */
        start?: number
        /** How many bytes, at most */
        length?: number
      }
      answer: {
        content: string
        encoding: string
        start: number
        end: number
        size: number
      }
    }
    /** Move, retype or tag a file */
    updateFile: {
      path: {
        file_id: string
      }
      body?: {
        path?: string
        content_type?: string
        tags?: Record<string, string>
      }
      answer: {
        id: string
        project_id: string
        path: string
        content_type: string
        tags: Record<string, string>
        size: number
        sha256: string
        created_at: string
        updated_at: string
      }
    }
    /** Replace the content of a file with the body, as it streams in */
    uploadFile: {
      path: {
        file_id: string
      }
      body: Bytes
      answer: {
        id: string
        project_id: string
        path: string
        content_type: string
        tags: Record<string, string>
        size: number
        sha256: string
        created_at: string
        updated_at: string
      }
    }
  }
  calls: {
    /** Download calls as CSV or JSON lines, newest first */
    exportCalls: {
      query?: {
        /** A table, or a JSON object on each line */
        format?: 'csv' | 'jsonl'
        /** Words that the call’s action, tool or error must contain, or the beginning of its id. Case is ignored */
        q?: string
        project_id?: string
        status?: 'pending' | 'success' | 'validation_error' | 'permission_denied' | 'rejected' | 'execution_error'
        app?: string
        tool_id?: string
        /** The tool’s name at the time of the call */
        tool?: string
        /** namespace:name */
        action?: string
        /** Who called */
        principal_id?: string
        surface?: 'rest' | 'mcp' | 'cli' | 'sdk' | 'agent' | 'web'
        /** The MCP endpoint that the call came through */
        server_id?: string
        /** Not before this time */
        from?: string
        /** Before this time */
        to?: string
      }
      answer: ReadableStream<Uint8Array>
    }
    /** Get one call whole */
    getCall: {
      path: {
        call_id: string
      }
      answer: {
        id: string
        project_id: string | null
        /** The call that made this one */
        parent_call_id: string | null
        /** The run of an agent that it is a part of */
        generation_id: string | null
        agent_id: string | null
        tool_id: string | null
        /** The tool’s name at the time */
        tool: string | null
        app: string | null
        /** namespace:name */
        action: string | null
        status: 'pending' | 'success' | 'validation_error' | 'permission_denied' | 'rejected' | 'execution_error'
        principal: {
          kind: string
          id: string
          name: string
        }
        /** How it came; cli and sdk are what a client of REST says of itself */
        surface: 'rest' | 'mcp' | 'cli' | 'sdk' | 'agent' | 'web'
        /** The MCP endpoint that the call came through */
        server_id: string | null
        client: {
          name: string | null
          version: string | null
        }
        /** What the caller sent, without presets; where it was cut, the beginning of its JSON text */
        request: unknown
        request_truncated: boolean
        /** The arguments that were fixed on the tool; their values are not recorded */
        preset_keys: Array<string>
        /** The output; where it was cut, the beginning of its JSON text */
        response: unknown
        response_truncated: boolean
        error: {
          code: string
          message: string
          details: Record<string, unknown>
        } | null
        /** From the request to the end, with the time that it waited for a person */
        duration_ms: number | null
        /** How long it waited for a person’s decision; null where none was asked */
        waited_ms: number | null
        created_at: string
        completed_at: string | null
      }
    }
    /** Count calls by minute and status, with their latency and how long they waited for people */
    getCallStats: {
      query?: {
        project_id?: string
        status?: 'pending' | 'success' | 'validation_error' | 'permission_denied' | 'rejected' | 'execution_error'
        app?: string
        tool_id?: string
        /** The tool’s name at the time of the call */
        tool?: string
        /** namespace:name */
        action?: string
        /** Who called */
        principal_id?: string
        surface?: 'rest' | 'mcp' | 'cli' | 'sdk' | 'agent' | 'web'
        /** The MCP endpoint that the call came through */
        server_id?: string
        /** An hour before `to`, unless given; at most a day. Counted from the start of its minute */
        from?: string
        /** Now, unless given */
        to?: string
      }
      answer: {
        from: string
        to: string
        /** False where there were so many calls that the earliest are left out */
        complete: boolean
        total: number
        by_status: Record<string, number>
        /** Calls that reached their tool and ended: the base of the failure rate and of the latency */
        executed: number
        /** Executed calls that ended with an error */
        failed: number
        /** Calls that never reached their tool: invalid, not permitted, or rejected by a person */
        refused: number
        /** Half of the executed calls took no longer, without waiting for people */
        p50_ms: number | null
        p95_ms: number | null
        /** Calls that waited for a person’s decision and ended, and how long they waited */
        waited: {
          total: number
          p50_ms: number | null
          p95_ms: number | null
        }
        /** Those in which there were calls, oldest first */
        minutes: Array<{
          at: string
          total: number
          by_status: Record<string, number>
          /** Calls that reached their tool and ended: the base of the failure rate and of the latency */
          executed: number
          /** Executed calls that ended with an error */
          failed: number
          /** Calls that never reached their tool: invalid, not permitted, or rejected by a person */
          refused: number
          /** Half of the executed calls took no longer, without waiting for people */
          p50_ms: number | null
          p95_ms: number | null
          /** Calls that waited for a person’s decision and ended, and how long they waited */
          waited: {
            total: number
            p50_ms: number | null
            p95_ms: number | null
          }
        }>
      }
    }
    /** List calls, newest first */
    listCalls: {
      query?: {
        /** Words that the call’s action, tool or error must contain, or the beginning of its id. Case is ignored. The newest 100,000 calls that match the rest are searched */
        q?: string
        project_id?: string
        status?: 'pending' | 'success' | 'validation_error' | 'permission_denied' | 'rejected' | 'execution_error'
        app?: string
        tool_id?: string
        /** The tool’s name at the time of the call */
        tool?: string
        /** namespace:name */
        action?: string
        /** Who called */
        principal_id?: string
        surface?: 'rest' | 'mcp' | 'cli' | 'sdk' | 'agent' | 'web'
        /** The MCP endpoint that the call came through */
        server_id?: string
        /** Not before this time */
        from?: string
        /** Before this time */
        to?: string
        /** How many to return, at most */
        limit?: number
        /** How many to skip */
        offset?: number
      }
      answer: {
        data: Array<{
          id: string
          project_id: string | null
          /** The call that made this one */
          parent_call_id: string | null
          /** The run of an agent that it is a part of */
          generation_id: string | null
          agent_id: string | null
          tool_id: string | null
          /** The tool’s name at the time */
          tool: string | null
          app: string | null
          /** namespace:name */
          action: string | null
          status: 'pending' | 'success' | 'validation_error' | 'permission_denied' | 'rejected' | 'execution_error'
          principal: {
            kind: string
            id: string
            name: string
          }
          /** How it came; cli and sdk are what a client of REST says of itself */
          surface: 'rest' | 'mcp' | 'cli' | 'sdk' | 'agent' | 'web'
          /** The MCP endpoint that the call came through */
          server_id: string | null
          client: {
            name: string | null
            version: string | null
          }
          request_truncated: boolean
          /** The arguments that were fixed on the tool; their values are not recorded */
          preset_keys: Array<string>
          response_truncated: boolean
          error: {
            code: string
            message: string
            details: Record<string, unknown>
          } | null
          /** From the request to the end, with the time that it waited for a person */
          duration_ms: number | null
          /** How long it waited for a person’s decision; null where none was asked */
          waited_ms: number | null
          created_at: string
          completed_at: string | null
        }>
        total: number
        limit: number
        offset: number
      }
    }
    /** Watch calls begin and end, as server-sent events */
    streamCalls: {
      query?: {
        /** Words that the call’s action, tool or error must contain, or the beginning of its id. Case is ignored */
        q?: string
        project_id?: string
        status?: 'pending' | 'success' | 'validation_error' | 'permission_denied' | 'rejected' | 'execution_error'
        app?: string
        tool_id?: string
        /** The tool’s name at the time of the call */
        tool?: string
        /** namespace:name */
        action?: string
        /** Who called */
        principal_id?: string
        surface?: 'rest' | 'mcp' | 'cli' | 'sdk' | 'agent' | 'web'
        /** The MCP endpoint that the call came through */
        server_id?: string
      }
      answer: AsyncIterable<ServerEvent<{
        id: string
        project_id: string | null
        /** The call that made this one */
        parent_call_id: string | null
        /** The run of an agent that it is a part of */
        generation_id: string | null
        agent_id: string | null
        tool_id: string | null
        /** The tool’s name at the time */
        tool: string | null
        app: string | null
        /** namespace:name */
        action: string | null
        status: 'pending' | 'success' | 'validation_error' | 'permission_denied' | 'rejected' | 'execution_error'
        principal: {
          kind: string
          id: string
          name: string
        }
        /** How it came; cli and sdk are what a client of REST says of itself */
        surface: 'rest' | 'mcp' | 'cli' | 'sdk' | 'agent' | 'web'
        /** The MCP endpoint that the call came through */
        server_id: string | null
        client: {
          name: string | null
          version: string | null
        }
        request_truncated: boolean
        /** The arguments that were fixed on the tool; their values are not recorded */
        preset_keys: Array<string>
        response_truncated: boolean
        error: {
          code: string
          message: string
          details: Record<string, unknown>
        } | null
        /** From the request to the end, with the time that it waited for a person */
        duration_ms: number | null
        /** How long it waited for a person’s decision; null where none was asked */
        waited_ms: number | null
        created_at: string
        completed_at: string | null
      }>>
    }
  }
  webhooks: {
    /** Create a webhook; its secret is in this answer only */
    createWebhook: {
      body: {
        project_id?: string
        name: string
        /** Where events are posted to */
        url: string
        /** Which events; `*` for all */
        events: Array<'generation.completed' | 'generation.failed' | 'generation.requires_action' | 'approval.requested' | 'connection.expired' | '*'>
        enabled?: boolean
      }
      answer: {
        id: string
        project_id: string
        name: string
        url: string
        events: Array<string>
        enabled: boolean
        /** Why the platform has disabled it */
        disabled_reason: string | null
        created_at: string
        updated_at: string
        /** What deliveries are signed with: `whsec_…`, in this answer only */
        secret: string
      }
    }
    /** Delete a webhook and its deliveries */
    deleteWebhook: {
      path: {
        webhook_id: string
      }
      answer: null
    }
    /** Get a webhook, without its secret */
    getWebhook: {
      path: {
        webhook_id: string
      }
      answer: {
        id: string
        project_id: string
        name: string
        url: string
        events: Array<string>
        enabled: boolean
        /** Why the platform has disabled it */
        disabled_reason: string | null
        created_at: string
        updated_at: string
      }
    }
    /** Get one delivery with its body */
    getWebhookDelivery: {
      path: {
        webhook_id: string
        delivery_id: string
      }
      answer: {
        /** Sent as `webhook-id`, the same each time */
        id: string
        webhook_id: string
        project_id: string
        type: string
        status: 'pending' | 'delivered' | 'failed'
        attempts: number
        last_status_code: number | null
        last_error: string | null
        /** The beginning of the last answer */
        response_excerpt: string | null
        next_attempt_at: string | null
        last_attempt_at: string | null
        delivered_at: string | null
        created_at: string
        /** What is sent: `type`, `timestamp` and `data` */
        body: Record<string, unknown>
      }
    }
    /** List what was sent to a webhook and how it went, newest first */
    listWebhookDeliveries: {
      path: {
        webhook_id: string
      }
      query?: {
        status?: 'pending' | 'delivered' | 'failed'
        /** The event */
        type?: string
        /** How many to return, at most */
        limit?: number
        /** How many to skip */
        offset?: number
      }
      answer: {
        data: Array<{
          /** Sent as `webhook-id`, the same each time */
          id: string
          webhook_id: string
          project_id: string
          type: string
          status: 'pending' | 'delivered' | 'failed'
          attempts: number
          last_status_code: number | null
          last_error: string | null
          /** The beginning of the last answer */
          response_excerpt: string | null
          next_attempt_at: string | null
          last_attempt_at: string | null
          delivered_at: string | null
          created_at: string
        }>
        total: number
        limit: number
        offset: number
      }
    }
    /** List webhooks */
    listWebhooks: {
      query?: {
        project_id?: string
        /** How many to return, at most */
        limit?: number
        /** How many to skip */
        offset?: number
      }
      answer: {
        data: Array<{
          id: string
          project_id: string
          name: string
          url: string
          events: Array<string>
          enabled: boolean
          /** Why the platform has disabled it */
          disabled_reason: string | null
          created_at: string
          updated_at: string
        }>
        total: number
        limit: number
        offset: number
      }
    }
    /** Send a delivery again, with the same id */
    redeliverWebhookDelivery: {
      path: {
        webhook_id: string
        delivery_id: string
      }
      answer: {
        /** Sent as `webhook-id`, the same each time */
        id: string
        webhook_id: string
        project_id: string
        type: string
        status: 'pending' | 'delivered' | 'failed'
        attempts: number
        last_status_code: number | null
        last_error: string | null
        /** The beginning of the last answer */
        response_excerpt: string | null
        next_attempt_at: string | null
        last_attempt_at: string | null
        delivered_at: string | null
        created_at: string
      }
    }
    /** Give a webhook a new secret, which is in this answer only; for a day the old one signs too */
    rotateWebhookSecret: {
      path: {
        webhook_id: string
      }
      answer: {
        id: string
        project_id: string
        name: string
        url: string
        events: Array<string>
        enabled: boolean
        /** Why the platform has disabled it */
        disabled_reason: string | null
        created_at: string
        updated_at: string
        /** What deliveries are signed with: `whsec_…`, in this answer only */
        secret: string
      }
    }
    /** Send a webhook.test event now, and say how it went */
    testWebhook: {
      path: {
        webhook_id: string
      }
      answer: {
        /** Sent as `webhook-id`, the same each time */
        id: string
        webhook_id: string
        project_id: string
        type: string
        status: 'pending' | 'delivered' | 'failed'
        attempts: number
        last_status_code: number | null
        last_error: string | null
        /** The beginning of the last answer */
        response_excerpt: string | null
        next_attempt_at: string | null
        last_attempt_at: string | null
        delivered_at: string | null
        created_at: string
      }
    }
    /** Change a webhook */
    updateWebhook: {
      path: {
        webhook_id: string
      }
      body?: {
        name?: string
        /** Where events are posted to */
        url?: string
        /** Which events; `*` for all */
        events?: Array<'generation.completed' | 'generation.failed' | 'generation.requires_action' | 'approval.requested' | 'connection.expired' | '*'>
        enabled?: boolean
      }
      answer: {
        id: string
        project_id: string
        name: string
        url: string
        events: Array<string>
        enabled: boolean
        /** Why the platform has disabled it */
        disabled_reason: string | null
        created_at: string
        updated_at: string
      }
    }
  }
  approvals: {
    /** Approve a call, as it is or with other arguments */
    approveCall: {
      path: {
        approval_id: string
      }
      body?: {
        /** Other arguments, all of them; what is hidden stays as it is where it is left hidden */
        input?: Record<string, unknown> | null
        reason?: string | null
        /** The args_hash that was looked at: refused if the arguments were changed since */
        args_hash?: string
      }
      answer: {
        id: string
        project_id: string
        /** The call that waits */
        call_id: string
        tool_id: string
        /** The tool’s name at the time */
        tool: string
        /** namespace:name */
        action: string
        status: 'pending' | 'approved' | 'rejected' | 'expired' | 'cancelled' | 'used'
        /** What the caller sent; declared secrets are hidden */
        input: Record<string, unknown>
        /** What a reviewer made of it; this is what runs */
        edited_input: Record<string, unknown> | null
        /** SHA-256 of the arguments that would run, as canonical JSON */
        args_hash: string
        /** The arguments that are fixed on the tool and are not shown */
        preset_keys: Array<string>
        /** Where the tool’s schema declares secrets; * stands for any key or index */
        secret_paths: Array<Array<string>>
        /** Arguments that are hidden, or shown though they look like credentials; look at them before you approve */
        sensitive: Array<{
          /** Where it stands, as in "account.token" */
          path: string
          type: 'string' | 'number' | 'boolean' | 'array' | 'object' | 'null'
          /** Characters, items or fields */
          length: number | null
          /** schema: the tool declares it secret; api_key: it holds an API key of this platform; name: only its name sounds like a credential; depth: it is nested too deep to be shown */
          reason: 'schema' | 'api_key' | 'name' | 'depth'
          /** True: its value is not shown, and runs as it was sent */
          hidden: boolean
        }>
        /** Of what the action was when it was asked for */
        definition_hash: string
        /** Who asked */
        principal: {
          id: string
          name: string
        }
        surface: 'rest' | 'mcp' | 'cli' | 'sdk' | 'agent' | 'web'
        client: {
          name: string | null
          version: string | null
        }
        agent_id: string | null
        generation_id: string | null
        server_id: string | null
        /** Every gate that asked for the decision */
        why: Array<{
          /** tool: auto_approve is off; level: above open; annotation: destructive; rule: an approval rule; server: auto_approve is off there */
          gate: 'tool' | 'level' | 'annotation' | 'rule' | 'server'
          /** Of the tool, the rule or the server */
          id?: string
          name?: string
          reason?: string
        }>
        /** How many different people must approve */
        approvals_needed: number
        /** Everything that was decided, in order */
        decisions: Array<{
          decision: 'approve' | 'reject'
          by: {
            id: string
            name: string
          }
          at: string
          reason: string | null
          /** Of the arguments that were decided on */
          args_hash: string
        }>
        decided_by: {
          id: string
          name: string
        } | null
        decided_at: string | null
        /** The reviewer’s */
        reason: string | null
        /** Until when it can be decided; once approved, until when the call can be made */
        expires_at: string
        used_at: string | null
        created_at: string
      }
    }
    /** Withdraw a request for approval; whoever asked for it may, too */
    cancelApproval: {
      path: {
        approval_id: string
      }
      answer: {
        id: string
        project_id: string
        /** The call that waits */
        call_id: string
        tool_id: string
        /** The tool’s name at the time */
        tool: string
        /** namespace:name */
        action: string
        status: 'pending' | 'approved' | 'rejected' | 'expired' | 'cancelled' | 'used'
        /** What the caller sent; declared secrets are hidden */
        input: Record<string, unknown>
        /** What a reviewer made of it; this is what runs */
        edited_input: Record<string, unknown> | null
        /** SHA-256 of the arguments that would run, as canonical JSON */
        args_hash: string
        /** The arguments that are fixed on the tool and are not shown */
        preset_keys: Array<string>
        /** Where the tool’s schema declares secrets; * stands for any key or index */
        secret_paths: Array<Array<string>>
        /** Arguments that are hidden, or shown though they look like credentials; look at them before you approve */
        sensitive: Array<{
          /** Where it stands, as in "account.token" */
          path: string
          type: 'string' | 'number' | 'boolean' | 'array' | 'object' | 'null'
          /** Characters, items or fields */
          length: number | null
          /** schema: the tool declares it secret; api_key: it holds an API key of this platform; name: only its name sounds like a credential; depth: it is nested too deep to be shown */
          reason: 'schema' | 'api_key' | 'name' | 'depth'
          /** True: its value is not shown, and runs as it was sent */
          hidden: boolean
        }>
        /** Of what the action was when it was asked for */
        definition_hash: string
        /** Who asked */
        principal: {
          id: string
          name: string
        }
        surface: 'rest' | 'mcp' | 'cli' | 'sdk' | 'agent' | 'web'
        client: {
          name: string | null
          version: string | null
        }
        agent_id: string | null
        generation_id: string | null
        server_id: string | null
        /** Every gate that asked for the decision */
        why: Array<{
          /** tool: auto_approve is off; level: above open; annotation: destructive; rule: an approval rule; server: auto_approve is off there */
          gate: 'tool' | 'level' | 'annotation' | 'rule' | 'server'
          /** Of the tool, the rule or the server */
          id?: string
          name?: string
          reason?: string
        }>
        /** How many different people must approve */
        approvals_needed: number
        /** Everything that was decided, in order */
        decisions: Array<{
          decision: 'approve' | 'reject'
          by: {
            id: string
            name: string
          }
          at: string
          reason: string | null
          /** Of the arguments that were decided on */
          args_hash: string
        }>
        decided_by: {
          id: string
          name: string
        } | null
        decided_at: string | null
        /** The reviewer’s */
        reason: string | null
        /** Until when it can be decided; once approved, until when the call can be made */
        expires_at: string
        used_at: string | null
        created_at: string
      }
    }
    /** Get an approval with its arguments; whoever asked for it may, too */
    getApproval: {
      path: {
        approval_id: string
      }
      answer: {
        id: string
        project_id: string
        /** The call that waits */
        call_id: string
        tool_id: string
        /** The tool’s name at the time */
        tool: string
        /** namespace:name */
        action: string
        status: 'pending' | 'approved' | 'rejected' | 'expired' | 'cancelled' | 'used'
        /** What the caller sent; declared secrets are hidden */
        input: Record<string, unknown>
        /** What a reviewer made of it; this is what runs */
        edited_input: Record<string, unknown> | null
        /** SHA-256 of the arguments that would run, as canonical JSON */
        args_hash: string
        /** The arguments that are fixed on the tool and are not shown */
        preset_keys: Array<string>
        /** Where the tool’s schema declares secrets; * stands for any key or index */
        secret_paths: Array<Array<string>>
        /** Arguments that are hidden, or shown though they look like credentials; look at them before you approve */
        sensitive: Array<{
          /** Where it stands, as in "account.token" */
          path: string
          type: 'string' | 'number' | 'boolean' | 'array' | 'object' | 'null'
          /** Characters, items or fields */
          length: number | null
          /** schema: the tool declares it secret; api_key: it holds an API key of this platform; name: only its name sounds like a credential; depth: it is nested too deep to be shown */
          reason: 'schema' | 'api_key' | 'name' | 'depth'
          /** True: its value is not shown, and runs as it was sent */
          hidden: boolean
        }>
        /** Of what the action was when it was asked for */
        definition_hash: string
        /** Who asked */
        principal: {
          id: string
          name: string
        }
        surface: 'rest' | 'mcp' | 'cli' | 'sdk' | 'agent' | 'web'
        client: {
          name: string | null
          version: string | null
        }
        agent_id: string | null
        generation_id: string | null
        server_id: string | null
        /** Every gate that asked for the decision */
        why: Array<{
          /** tool: auto_approve is off; level: above open; annotation: destructive; rule: an approval rule; server: auto_approve is off there */
          gate: 'tool' | 'level' | 'annotation' | 'rule' | 'server'
          /** Of the tool, the rule or the server */
          id?: string
          name?: string
          reason?: string
        }>
        /** How many different people must approve */
        approvals_needed: number
        /** Everything that was decided, in order */
        decisions: Array<{
          decision: 'approve' | 'reject'
          by: {
            id: string
            name: string
          }
          at: string
          reason: string | null
          /** Of the arguments that were decided on */
          args_hash: string
        }>
        decided_by: {
          id: string
          name: string
        } | null
        decided_at: string | null
        /** The reviewer’s */
        reason: string | null
        /** Until when it can be decided; once approved, until when the call can be made */
        expires_at: string
        used_at: string | null
        created_at: string
      }
    }
    /** List approvals, newest first */
    listApprovals: {
      query?: {
        project_id?: string
        status?: 'pending' | 'approved' | 'rejected' | 'expired' | 'cancelled' | 'used'
        tool_id?: string
        agent_id?: string
        /** Who asked */
        principal_id?: string
        /** How many to return, at most */
        limit?: number
        /** How many to skip */
        offset?: number
      }
      answer: {
        data: Array<{
          id: string
          project_id: string
          /** The call that waits */
          call_id: string
          tool_id: string
          /** The tool’s name at the time */
          tool: string
          /** namespace:name */
          action: string
          status: 'pending' | 'approved' | 'rejected' | 'expired' | 'cancelled' | 'used'
          /** SHA-256 of the arguments that would run, as canonical JSON */
          args_hash: string
          /** The arguments that are fixed on the tool and are not shown */
          preset_keys: Array<string>
          /** Where the tool’s schema declares secrets; * stands for any key or index */
          secret_paths: Array<Array<string>>
          /** Of what the action was when it was asked for */
          definition_hash: string
          /** Who asked */
          principal: {
            id: string
            name: string
          }
          surface: 'rest' | 'mcp' | 'cli' | 'sdk' | 'agent' | 'web'
          client: {
            name: string | null
            version: string | null
          }
          agent_id: string | null
          generation_id: string | null
          server_id: string | null
          /** Every gate that asked for the decision */
          why: Array<{
            /** tool: auto_approve is off; level: above open; annotation: destructive; rule: an approval rule; server: auto_approve is off there */
            gate: 'tool' | 'level' | 'annotation' | 'rule' | 'server'
            /** Of the tool, the rule or the server */
            id?: string
            name?: string
            reason?: string
          }>
          /** How many different people must approve */
          approvals_needed: number
          /** Everything that was decided, in order */
          decisions: Array<{
            decision: 'approve' | 'reject'
            by: {
              id: string
              name: string
            }
            at: string
            reason: string | null
            /** Of the arguments that were decided on */
            args_hash: string
          }>
          decided_by: {
            id: string
            name: string
          } | null
          decided_at: string | null
          /** The reviewer’s */
          reason: string | null
          /** Until when it can be decided; once approved, until when the call can be made */
          expires_at: string
          used_at: string | null
          created_at: string
        }>
        total: number
        limit: number
        offset: number
      }
    }
    /** Reject a call; whoever made it is told the reason */
    rejectCall: {
      path: {
        approval_id: string
      }
      body?: {
        reason?: string | null
        /** The args_hash that was looked at: refused if the arguments were changed since */
        args_hash?: string
      }
      answer: {
        id: string
        project_id: string
        /** The call that waits */
        call_id: string
        tool_id: string
        /** The tool’s name at the time */
        tool: string
        /** namespace:name */
        action: string
        status: 'pending' | 'approved' | 'rejected' | 'expired' | 'cancelled' | 'used'
        /** What the caller sent; declared secrets are hidden */
        input: Record<string, unknown>
        /** What a reviewer made of it; this is what runs */
        edited_input: Record<string, unknown> | null
        /** SHA-256 of the arguments that would run, as canonical JSON */
        args_hash: string
        /** The arguments that are fixed on the tool and are not shown */
        preset_keys: Array<string>
        /** Where the tool’s schema declares secrets; * stands for any key or index */
        secret_paths: Array<Array<string>>
        /** Arguments that are hidden, or shown though they look like credentials; look at them before you approve */
        sensitive: Array<{
          /** Where it stands, as in "account.token" */
          path: string
          type: 'string' | 'number' | 'boolean' | 'array' | 'object' | 'null'
          /** Characters, items or fields */
          length: number | null
          /** schema: the tool declares it secret; api_key: it holds an API key of this platform; name: only its name sounds like a credential; depth: it is nested too deep to be shown */
          reason: 'schema' | 'api_key' | 'name' | 'depth'
          /** True: its value is not shown, and runs as it was sent */
          hidden: boolean
        }>
        /** Of what the action was when it was asked for */
        definition_hash: string
        /** Who asked */
        principal: {
          id: string
          name: string
        }
        surface: 'rest' | 'mcp' | 'cli' | 'sdk' | 'agent' | 'web'
        client: {
          name: string | null
          version: string | null
        }
        agent_id: string | null
        generation_id: string | null
        server_id: string | null
        /** Every gate that asked for the decision */
        why: Array<{
          /** tool: auto_approve is off; level: above open; annotation: destructive; rule: an approval rule; server: auto_approve is off there */
          gate: 'tool' | 'level' | 'annotation' | 'rule' | 'server'
          /** Of the tool, the rule or the server */
          id?: string
          name?: string
          reason?: string
        }>
        /** How many different people must approve */
        approvals_needed: number
        /** Everything that was decided, in order */
        decisions: Array<{
          decision: 'approve' | 'reject'
          by: {
            id: string
            name: string
          }
          at: string
          reason: string | null
          /** Of the arguments that were decided on */
          args_hash: string
        }>
        decided_by: {
          id: string
          name: string
        } | null
        decided_at: string | null
        /** The reviewer’s */
        reason: string | null
        /** Until when it can be decided; once approved, until when the call can be made */
        expires_at: string
        used_at: string | null
        created_at: string
      }
    }
    /** Watch approvals be asked for and decided, as server-sent events */
    streamApprovals: {
      query?: {
        project_id?: string
        status?: 'pending' | 'approved' | 'rejected' | 'expired' | 'cancelled' | 'used'
        tool_id?: string
        agent_id?: string
        /** Who asked */
        principal_id?: string
      }
      answer: AsyncIterable<ServerEvent<{
        id: string
        project_id: string
        /** The call that waits */
        call_id: string
        tool_id: string
        /** The tool’s name at the time */
        tool: string
        /** namespace:name */
        action: string
        status: 'pending' | 'approved' | 'rejected' | 'expired' | 'cancelled' | 'used'
        /** SHA-256 of the arguments that would run, as canonical JSON */
        args_hash: string
        /** The arguments that are fixed on the tool and are not shown */
        preset_keys: Array<string>
        /** Where the tool’s schema declares secrets; * stands for any key or index */
        secret_paths: Array<Array<string>>
        /** Of what the action was when it was asked for */
        definition_hash: string
        /** Who asked */
        principal: {
          id: string
          name: string
        }
        surface: 'rest' | 'mcp' | 'cli' | 'sdk' | 'agent' | 'web'
        client: {
          name: string | null
          version: string | null
        }
        agent_id: string | null
        generation_id: string | null
        server_id: string | null
        /** Every gate that asked for the decision */
        why: Array<{
          /** tool: auto_approve is off; level: above open; annotation: destructive; rule: an approval rule; server: auto_approve is off there */
          gate: 'tool' | 'level' | 'annotation' | 'rule' | 'server'
          /** Of the tool, the rule or the server */
          id?: string
          name?: string
          reason?: string
        }>
        /** How many different people must approve */
        approvals_needed: number
        /** Everything that was decided, in order */
        decisions: Array<{
          decision: 'approve' | 'reject'
          by: {
            id: string
            name: string
          }
          at: string
          reason: string | null
          /** Of the arguments that were decided on */
          args_hash: string
        }>
        decided_by: {
          id: string
          name: string
        } | null
        decided_at: string | null
        /** The reviewer’s */
        reason: string | null
        /** Until when it can be decided; once approved, until when the call can be made */
        expires_at: string
        used_at: string | null
        created_at: string
      }>>
    }
  }
  approvalRules: {
    /** Add a rule on which calls need approval */
    createApprovalRule: {
      body: {
        project_id?: string
        name: string
        /** CEL: where it is true, a human decides. It sees input, action, tool, principal, agent, server and surface */
        expression: string
        enabled?: boolean
        /** How long the decision may take */
        timeout_seconds?: number | null
        /** Whether two different people must approve */
        two_people?: boolean
        /** Shown to the reviewer */
        reason?: string | null
      }
      answer: {
        id: string
        project_id: string
        name: string
        enabled: boolean
        /** CEL: where it is true, a human decides. It sees input, action, tool, principal, agent, server and surface */
        expression: string
        /** How long the decision may take */
        timeout_seconds: number | null
        /** Whether two different people must approve */
        two_people: boolean
        /** Shown to the reviewer */
        reason: string | null
        created_at: string
        updated_at: string
      }
    }
    /** Delete an approval rule; what it has asked for stays to be decided */
    deleteApprovalRule: {
      path: {
        approval_rule_id: string
      }
      answer: null
    }
    /** Get an approval rule */
    getApprovalRule: {
      path: {
        approval_rule_id: string
      }
      answer: {
        id: string
        project_id: string
        name: string
        enabled: boolean
        /** CEL: where it is true, a human decides. It sees input, action, tool, principal, agent, server and surface */
        expression: string
        /** How long the decision may take */
        timeout_seconds: number | null
        /** Whether two different people must approve */
        two_people: boolean
        /** Shown to the reviewer */
        reason: string | null
        created_at: string
        updated_at: string
      }
    }
    /** List approval rules */
    listApprovalRules: {
      query?: {
        project_id?: string
        /** How many to return, at most */
        limit?: number
        /** How many to skip */
        offset?: number
      }
      answer: {
        data: Array<{
          id: string
          project_id: string
          name: string
          enabled: boolean
          /** CEL: where it is true, a human decides. It sees input, action, tool, principal, agent, server and surface */
          expression: string
          /** How long the decision may take */
          timeout_seconds: number | null
          /** Whether two different people must approve */
          two_people: boolean
          /** Shown to the reviewer */
          reason: string | null
          created_at: string
          updated_at: string
        }>
        total: number
        limit: number
        offset: number
      }
    }
    /** Say whether a condition would be true of a call, which is not made */
    testApprovalRule: {
      body: {
        project_id?: string
        /** CEL: where it is true, a human decides. It sees input, action, tool, principal, agent, server and surface */
        expression: string
        tool_id: string
        /** namespace:name; needed where the tool has several */
        action?: string
        /** What the call would be made with; presets are not added */
        input: Record<string, unknown>
        surface?: 'rest' | 'mcp' | 'cli' | 'sdk' | 'agent' | 'web'
      }
      answer: {
        asks: boolean
        /** Why the condition cannot be applied to the call, so that it asks */
        fault: string | null
      }
    }
    /** Change an approval rule */
    updateApprovalRule: {
      path: {
        approval_rule_id: string
      }
      body?: {
        name?: string
        enabled?: boolean
        /** CEL: where it is true, a human decides. It sees input, action, tool, principal, agent, server and surface */
        expression?: string
        /** How long the decision may take */
        timeout_seconds?: number | null
        /** Whether two different people must approve */
        two_people?: boolean
        /** Shown to the reviewer */
        reason?: string | null
      }
      answer: {
        id: string
        project_id: string
        name: string
        enabled: boolean
        /** CEL: where it is true, a human decides. It sees input, action, tool, principal, agent, server and surface */
        expression: string
        /** How long the decision may take */
        timeout_seconds: number | null
        /** Whether two different people must approve */
        two_people: boolean
        /** Shown to the reviewer */
        reason: string | null
        created_at: string
        updated_at: string
      }
    }
  }
}

/** Every error that the platform answers with. */
export type PlatformErrorCode =
  | 'VALIDATION_FAILED'
  | 'INVALID_JSON'
  | 'BODY_INCOMPLETE'
  | 'PROJECT_REQUIRED'
  | 'ANSWER_NOT_AWAITED'
  | 'UNAUTHENTICATED'
  | 'KEY_GONE'
  | 'FOREIGN_ORIGIN'
  | 'FORGED_REQUEST'
  | 'FORBIDDEN'
  | 'EGRESS_BLOCKED'
  | 'APPROVAL_REJECTED'
  | 'APPROVAL_EXPIRED'
  | 'APPROVAL_CANCELLED'
  | 'SELF_APPROVAL'
  | 'PERSON_REQUIRED'
  | 'RESOURCE_NOT_FOUND'
  | 'GENERATION_NOT_FOUND'
  | 'UNKNOWN_TOOL'
  | 'TOOL_NOT_ACTIVE'
  | 'ROUTE_NOT_FOUND'
  | 'METHOD_NOT_ALLOWED'
  | 'NAME_TAKEN'
  | 'AMBIGUOUS_NAME'
  | 'HAS_DEPENDENTS'
  | 'LAST_ADMIN_KEY'
  | 'ACTION_WITHHELD'
  | 'DEFINITION_CHANGED'
  | 'OUTPUT_GIVEN'
  | 'OUTPUTS_EXPIRED'
  | 'APPROVAL_STALE'
  | 'APPROVAL_USED'
  | 'APPROVAL_DECIDED'
  | 'APPROVAL_CHANGED'
  | 'SECOND_PERSON_REQUIRED'
  | 'OUTCOME_UNKNOWN'
  | 'IDEMPOTENCY_IN_PROGRESS'
  | 'WEBHOOK_DISABLED'
  | 'TOO_MANY_WEBHOOKS'
  | 'BODY_TOO_LARGE'
  | 'UNSUPPORTED_MEDIA_TYPE'
  | 'RANGE_NOT_SATISFIABLE'
  | 'TOOL_CALL_NOT_SUPPORTED'
  | 'CALL_TOO_DEEP'
  | 'SECRET_NOT_FOUND'
  | 'MODEL_CONTEXT_TOO_LONG'
  | 'MODEL_REFUSED'
  | 'MODEL_NOT_FOUND'
  | 'MODEL_REQUEST_REFUSED'
  | 'REPLAY_STEP_MISSING'
  | 'IDEMPOTENCY_KEY_REUSED'
  | 'RATE_LIMITED'
  | 'TOO_MANY_APPROVALS'
  | 'MODEL_RATE_LIMITED'
  | 'TOO_MANY_SIGN_INS'
  | 'CALL_CANCELLED'
  | 'INTERNAL'
  | 'SECRET_UNREADABLE'
  | 'SECRET_KEY_WRONG'
  | 'MODEL_KEY_REFUSED'
  | 'MODEL_UNAVAILABLE'
  | 'MODEL_ANSWER_INVALID'
  | 'TOOL_HTTP_ERROR'
  | 'TOOL_UNREACHABLE'
  | 'TOOL_PROTOCOL_ERROR'
  | 'TOOL_SCHEMA_INVALID'
  | 'RESPONSE_TOO_LARGE'
  | 'RESPONSE_TOO_COMPLEX'
  | 'TOO_MANY_REDIRECTS'
  | 'TOO_MANY_LISTENERS'
  | 'DATABASE_UNAVAILABLE'
  | 'SHUTTING_DOWN'
  | 'MODEL_TIMEOUT'
  | 'TOOL_TIMEOUT'
