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
    listToolActions: 'GET /tools/{tool_id}/actions',
    listTools: 'GET /tools',
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
    getCall: 'GET /calls/{call_id}',
    getCallStats: 'GET /calls/stats',
    listCalls: 'GET /calls',
    streamCalls: 'GET /calls/stream',
  },
} as const

/** The methods that send or get something other than JSON. */
export const streams = {
  downloadFile: { answers: 'bytes' },
  uploadFile: { accepts: 'bytes' },
  streamCalls: { answers: 'events' },
} as const

/** What goes into each method and what comes out of it. */
export interface Operations {
  projects: {
    /** Create a project */
    createProject: {
      body: {
        name: string
      }
      answer: {
        id: string
        name: string
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
          created_at: string
          updated_at: string
        }>
        total: number
        limit: number
        offset: number
      }
    }
    /** Rename a project */
    updateProject: {
      path: {
        project_id: string
      }
      body: {
        name: string
      }
      answer: {
        id: string
        name: string
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
    /** Revoke an API key, at once */
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
        /** Requests a minute, or null for the platform’s default */
        rate_limit: number | null
        expires_at: string | null
        last_used_at: string | null
        created_at: string
        updated_at: string
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
        layer: 'project' | 'access policy'
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
      }
      answer: unknown
    }
    /** Register a tool */
    createTool: {
      body: {
        project_id?: string
        /** The name a model sees, or the prefix of its actions’ names */
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
        } | null
        /** Which of the platform’s actions a platform tool offers */
        actions?: Array<string> | null
        /** Values that are fixed, hidden and always win */
        preset_parameters?: Record<string, unknown> | null
        /** The slug that its actions are filed under */
        app?: string | null
        /** Withhold an action of an MCP server that is described otherwise than before, until that is accepted */
        pin_definitions?: boolean
        /** How sensitive it is; above open, a human decides unless auto_approve is set */
        level?: 'open' | 'restricted' | 'administrative'
        /** Whether calls run without a human’s decision */
        auto_approve?: boolean | null
        /** How long a call may take; 60 unless given */
        timeout_seconds?: number | null
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
        created_at: string
        updated_at: string
      }
    }
    /** Delete a tool; the record of its calls stays */
    deleteTool: {
      path: {
        tool_id: string
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
        created_at: string
        updated_at: string
      }
    }
    /** See whether the MCP server behind a tool can be reached */
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
          headers?: Record<string, string>
          command?: string
          args?: Array<string>
          env?: Record<string, string>
          cwd?: string
          disabled?: boolean
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
          created_at: string
          updated_at: string
        }>
        skipped: Array<{
          name: string
          reason: string
        }>
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
          /** The name that a model sees */
          tool_name: string
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
          created_at: string
          updated_at: string
        }>
        total: number
        limit: number
        offset: number
      }
    }
    /** Change a tool; the result is checked as if it were new */
    updateTool: {
      path: {
        tool_id: string
      }
      body?: {
        /** The name a model sees, or the prefix of its actions’ names */
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
        } | null
        /** Which of the platform’s actions a platform tool offers */
        actions?: Array<string> | null
        /** Values that are fixed, hidden and always win */
        preset_parameters?: Record<string, unknown> | null
        /** The slug that its actions are filed under */
        app?: string | null
        /** Withhold an action of an MCP server that is described otherwise than before, until that is accepted */
        pin_definitions?: boolean
        /** How sensitive it is; above open, a human decides unless auto_approve is set */
        level?: 'open' | 'restricted' | 'administrative'
        /** Whether calls run without a human’s decision */
        auto_approve?: boolean | null
        /** How long a call may take; 60 unless given */
        timeout_seconds?: number | null
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
        surface: 'rest' | 'mcp' | 'xml' | 'cli' | 'sdk' | 'agent' | 'workflow' | 'web'
        client: {
          name: string | null
          version: string | null
        }
        /** The input; where it was cut, the beginning of its JSON text */
        request: unknown
        request_truncated: boolean
        /** The output; where it was cut, the beginning of its JSON text */
        response: unknown
        response_truncated: boolean
        error: {
          code: string
          message: string
          details: Record<string, unknown>
        } | null
        duration_ms: number | null
        created_at: string
        completed_at: string | null
      }
    }
    /** Count calls by minute and status, with their latency */
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
        surface?: 'rest' | 'mcp' | 'xml' | 'cli' | 'sdk' | 'agent' | 'workflow' | 'web'
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
        /** Half of the calls that ended took no longer */
        p50_ms: number | null
        p95_ms: number | null
        /** Those in which there were calls, oldest first */
        minutes: Array<{
          at: string
          total: number
          by_status: Record<string, number>
          /** Half of the calls that ended took no longer */
          p50_ms: number | null
          p95_ms: number | null
        }>
      }
    }
    /** List calls, newest first */
    listCalls: {
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
        surface?: 'rest' | 'mcp' | 'xml' | 'cli' | 'sdk' | 'agent' | 'workflow' | 'web'
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
          surface: 'rest' | 'mcp' | 'xml' | 'cli' | 'sdk' | 'agent' | 'workflow' | 'web'
          client: {
            name: string | null
            version: string | null
          }
          request_truncated: boolean
          response_truncated: boolean
          error: {
            code: string
            message: string
            details: Record<string, unknown>
          } | null
          duration_ms: number | null
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
        surface?: 'rest' | 'mcp' | 'xml' | 'cli' | 'sdk' | 'agent' | 'workflow' | 'web'
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
        surface: 'rest' | 'mcp' | 'xml' | 'cli' | 'sdk' | 'agent' | 'workflow' | 'web'
        client: {
          name: string | null
          version: string | null
        }
        request_truncated: boolean
        response_truncated: boolean
        error: {
          code: string
          message: string
          details: Record<string, unknown>
        } | null
        duration_ms: number | null
        created_at: string
        completed_at: string | null
      }>>
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
  | 'KEY_REFUSED'
  | 'FOREIGN_ORIGIN'
  | 'FORGED_REQUEST'
  | 'FORBIDDEN'
  | 'EGRESS_BLOCKED'
  | 'APPROVAL_REQUIRED'
  | 'RESOURCE_NOT_FOUND'
  | 'ROUTE_NOT_FOUND'
  | 'METHOD_NOT_ALLOWED'
  | 'NAME_TAKEN'
  | 'HAS_DEPENDENTS'
  | 'ACTION_WITHHELD'
  | 'IDEMPOTENCY_IN_PROGRESS'
  | 'BODY_TOO_LARGE'
  | 'UNSUPPORTED_MEDIA_TYPE'
  | 'RANGE_NOT_SATISFIABLE'
  | 'TOOL_CALL_NOT_SUPPORTED'
  | 'CALL_TOO_DEEP'
  | 'SECRET_NOT_FOUND'
  | 'IDEMPOTENCY_KEY_REUSED'
  | 'RATE_LIMITED'
  | 'TOO_MANY_SIGN_INS'
  | 'CALL_CANCELLED'
  | 'INTERNAL'
  | 'TOOL_HTTP_ERROR'
  | 'TOOL_UNREACHABLE'
  | 'TOOL_PROTOCOL_ERROR'
  | 'TOOL_SCHEMA_INVALID'
  | 'RESPONSE_TOO_LARGE'
  | 'TOO_MANY_REDIRECTS'
  | 'TOO_MANY_LISTENERS'
  | 'SHUTTING_DOWN'
  | 'TOOL_TIMEOUT'
