import type { z } from 'zod'
import { McpAddress } from '../mcp/client/address.ts'
import { AccessPolicy, Condition, PolicyDocument, Statement } from '../model/access-policy.ts'
import { Agent, StepRule, StopCondition, ToolChoice } from '../model/agent.ts'
import { AiProvider, ListedAiProvider, Price } from '../model/ai-provider.ts'
import { ApiKey, NewApiKeyAnswer } from '../model/api-key.ts'
import {
  Approval,
  ApprovalStatus,
  ApprovalSummary,
  Decision,
  Gate,
  PendingApproval,
  Sensitive,
} from '../model/approval.ts'
import { ApprovalRule } from '../model/approval-rule.ts'
import { Call, CallStatus, CallSummary, Surface } from '../model/call.ts'
import { AuthConfig, Connection, ConnectionOwner, ConnectionStatus, ConnectionType } from '../model/connection.ts'
import { Document, DocumentMatch, DocumentSummary, File } from '../model/document.ts'
import {
  Generation,
  GenerationDetail,
  GenerationResult,
  GenerationStatus,
  PendingConnection,
  PendingToolCall,
  RequiredAction,
  StepCall,
  StepView,
  StopReason,
  TraceNode,
  Usage,
} from '../model/generation.ts'
import { GuideMatch, StepGuide } from '../model/guide.ts'
import { Mode } from '../model/mode.ts'
import { OauthGrant } from '../model/oauth-grant.ts'
import { Project } from '../model/project.ts'
import { Secret } from '../model/secret.ts'
import { Server, ServerAccess, ServerApp } from '../model/server.ts'
import {
  EventIds,
  EventKind,
  EventSource,
  RoutinePosition,
  RoutineRun,
  Session,
  SessionEvent,
  SessionEvents,
  TurnStatus,
} from '../model/session.ts'
import { SignInProviderView } from '../model/sign-in-provider.ts'
import { Skill } from '../model/skill.ts'
import { Level } from '../model/tool.ts'
import { TrustedIssuer } from '../model/trusted-issuer.ts'
import { InvitedUser, Role, User, UserStatus } from '../model/user.ts'
import { Delivery, DeliverySummary, Webhook, WebhookEvent, WebhookWithSecret } from '../model/webhook.ts'
import { RunStatus, WorkflowCall, WorkflowRun, WorkflowRunDetail, WorkflowStep } from '../model/workflow-run.ts'
import { XmlPrompt, XmlResult, XmlResults } from '../model/xml-result.ts'
import { Execute } from '../tools/http.ts'
import { OpenApi } from '../tools/openapi/openapi.ts'
import { CredentialNeed } from '../tools/tool-type.ts'
import { Workflow } from '../tools/workflow/definition.ts'
import { Recording, Tested } from './ai-providers.ts'
import { CurrentApiKey } from './api-keys.ts'
import { AppPreset } from './app-presets.ts'
import { App, AppAction, AppDetail } from './apps.ts'
import { CallStats } from './call-stats.ts'
import { AccessCheck } from './check-access.ts'
import { ConnectLink } from './connect-links.ts'
import { DefinitionChange } from './definitions.ts'
import { Diagnosis, DiagnosisStep } from './diagnose-connection.ts'
import { Footprint } from './footprint.ts'
import { Content, InputMessage, Part } from './generation-input.ts'
import { ApiView, OperationView } from './inspect-openapi.ts'
import { AgentManifest, JsonSchema, ManifestProblem } from './manifests.ts'
import type { Operation } from './operation.ts'
import { Candidate } from './resolve.ts'
import { SigningKeys, SigningKeyView } from './signing-keys.ts'
import { ToolTypeView } from './tool-types.ts'
import { ActionView, Health } from './tools.ts'
import { CurrentUser } from './users.ts'

export interface NamedSchema {
  readonly schema: z.ZodType
  readonly description: string
}

/**
 * Schemas that have a name in the OpenAPI document and in the SDK, where each is described once. A page of them is
 * `<Name>Page`. If the input accepts more than the output returns, it is `<Name>Input`.
 *
 * Zod's own registry is not used: it would also put references into the schemas that models get.
 */
const named: Readonly<Record<string, NamedSchema>> = {
  AccessCheck: name(AccessCheck, 'Whether a key or person may do something, and what decides.'),
  AccessPolicy: name(AccessPolicy, 'Rules about what the keys that hold it may do.'),
  Action: name(ActionView, 'One callable action of a tool, as a model sees it.'),
  ActionCandidate: name(Candidate, 'An action that may fit a request, with its score.'),
  Agent: name(Agent, 'A model with instructions and tools.'),
  AgentManifest: name(AgentManifest, 'The manifest of an agent.'),
  AiProvider: name(AiProvider, 'A provider of language models.'),
  AiProviderRecording: name(Recording, 'Recorded answers of an AI provider, as a script for replay.'),
  AiProviderSummary: name(ListedAiProvider, 'An AI provider without its script.'),
  AiProviderTest: name(Tested, 'The result of testing an AI provider.'),
  ApiKey: name(ApiKey, 'An API key, without its value.'),
  ApiDescription: name(ApiView, 'What an OpenAPI document offers.'),
  ApiOperation: name(OperationView, 'An operation of an OpenAPI document.'),
  App: name(App, 'The tools that belong together, with what they offer and need.'),
  AppAction: name(AppAction, 'An action of an app, in short.'),
  AppDetail: name(AppDetail, 'An app with its actions.'),
  AppPreset: name(AppPreset, 'A well-known app, whose OAuth endpoints the platform knows.'),
  Approval: name(Approval, 'A person’s decision on one call, pending or made.'),
  ApprovalDecision: name(Decision, 'What one person decided.'),
  ApprovalReason: name(Gate, 'Why a call needs approval.'),
  ApprovalRule: name(ApprovalRule, 'A condition on which calls need approval.'),
  ApprovalStatus: name(ApprovalStatus, 'The status of an approval.'),
  ApprovalSummary: name(ApprovalSummary, 'An approval without the arguments of its call.'),
  AuthConfig: name(AuthConfig, 'How the accounts of an app are connected.'),
  Call: name(Call, 'The record of one tool call.'),
  CallStats: name(CallStats, 'How many calls there were, their latency and their failures.'),
  CallStatus: name(CallStatus, 'The status of a call.'),
  CallSummary: name(CallSummary, 'A call without its request and response.'),
  Connection: name(Connection, 'An account at an app, of an end user or of the project, without its credentials.'),
  ConnectionOwner: name(ConnectionOwner, 'Whose connection it is.'),
  ConnectionStatus: name(ConnectionStatus, 'Whether a connection works.'),
  ConnectionType: name(ConnectionType, 'How a connection authenticates.'),
  ConnectionDiagnosis: name(Diagnosis, 'What came of trying to connect an account and to use it.'),
  ConnectionDiagnosisStep: name(DiagnosisStep, 'One step of a diagnosis.'),
  ConnectLink: name(ConnectLink, 'A link to the page on which an account is connected.'),
  CredentialNeed: name(CredentialNeed, 'A credential that calls of a tool need.'),
  CreatedApiKey: name(NewApiKeyAnswer, 'A new API key, with its value.'),
  CurrentApiKey: name(CurrentApiKey, 'The API key that you use, with its project and access policies.'),
  CurrentUser: name(CurrentUser, 'The person that you are signed in as, with their project and access policies.'),
  DefinitionChange: name(DefinitionChange, 'An action whose definition changed after it was accepted.'),
  Document: name(Document, 'A text document.'),
  DocumentMatch: name(DocumentMatch, 'A document that a search found.'),
  DocumentSummary: name(DocumentSummary, 'A document without its content.'),
  File: name(File, 'A file, without its content.'),
  Generation: name(Generation, 'One run of an agent.'),
  GenerationCall: name(StepCall, 'A tool call in a step of a generation.'),
  GenerationDetail: name(GenerationDetail, 'A generation with its input, steps and output.'),
  GenerationResult: name(GenerationResult, 'The outcome of a generation so far.'),
  GenerationStatus: name(GenerationStatus, 'The status of a generation.'),
  GenerationStep: name(StepView, 'One request to the model in a generation, with the calls it led to.'),
  GenerationTrace: name(TraceNode, 'A generation with the generations that it started.'),
  GuideDecision: name(StepGuide, 'What the policies and routines of an agent mean for one step.'),
  GuideMatch: name(GuideMatch, 'Why a policy or a routine applies, or does not.'),
  HttpExecute: name(Execute, 'How an http tool makes its request.'),
  JsonSchema: name(JsonSchema, 'A JSON Schema.'),
  ManifestProblem: name(ManifestProblem, 'Something wrong in a manifest, and where.'),
  McpAddress: name(McpAddress, 'Where an MCP server is: a URL, or a program to run.'),
  InvitedUser: name(InvitedUser, 'A person with the link to accept the invitation.'),
  Message: name(InputMessage, 'A message of a conversation.'),
  MessageContent: name(Content, 'The content of a message: text, parts, or where to take it from.'),
  MessagePart: name(Part, 'A text or an image in a message.'),
  ModelPrice: name(Price, 'US dollars per million tokens of a model.'),
  Mode: name(Mode, 'A named context of calls: which levels, servers and tools they can use.'),
  OauthGrant: name(OauthGrant, 'Permission for an app to use an MCP server in somebody’s name.'),
  OpenApiSource: name(OpenApi, 'The document of an openapi tool, and what is offered of it.'),
  PendingApproval: name(PendingApproval, 'The answer to a call that does not wait for its approval.'),
  PendingConnection: name(PendingConnection, 'An account that a generation waits for.'),
  PendingToolCall: name(PendingToolCall, 'A call that a generation waits for the caller to make.'),
  PolicyCondition: name(Condition, 'When a statement of an access policy applies.'),
  PolicyDocument: name(PolicyDocument, 'The statements of an access policy.'),
  PolicyStatement: name(Statement, 'One rule of an access policy.'),
  Project: name(Project, 'A tenant: everything else belongs to a project.'),
  RequiredAction: name(RequiredAction, 'What a generation waits for.'),
  Secret: name(Secret, 'A credential that tools reference by name, without its value.'),
  RoutineRun: name(RoutineRun, 'The run of an autonomous routine.'),
  RoutinePosition: name(RoutinePosition, 'Where a session is in a routine.'),
  SensitiveArgument: name(Sensitive, 'An argument that is hidden or looks like a credential.'),
  Server: name(Server, 'An MCP endpoint: which tools and skills it offers, and how.'),
  ServerAccess: name(ServerAccess, 'Which credentials a server accepts, and whose.'),
  ServerApp: name(ServerApp, 'An app that a server offers, with all of its actions or some.'),
  ServerFootprint: name(Footprint, 'What the tool list of a server costs a model.'),
  SignInProvider: name(SignInProviderView, 'A company account that people sign in with, without its client secret.'),
  Session: name(Session, 'A conversation between an agent and an end user.'),
  SessionEvent: name(SessionEvent, 'One entry in the log of a session.'),
  SessionEventList: name(SessionEvents, 'Events of a session, in order.'),
  SessionEventIds: name(EventIds, 'The ids of a new event.'),
  SessionEventKind: name(EventKind, 'The kind of an event.'),
  SessionEventSource: name(EventSource, 'Who an event comes from.'),
  SigningKey: name(SigningKeyView, 'A key that signs tokens of the built-in authorization server.'),
  SigningKeyList: name(SigningKeys, 'The keys that tokens may be signed with.'),
  Skill: name(Skill, 'A procedure that an agent can load.'),
  StepRule: name(StepRule, 'What differs at one step of a generation.'),
  StopCondition: name(StopCondition, 'What ends a generation early.'),
  StopReason: name(StopReason, 'Why a generation ended.'),
  Surface: name(Surface, 'How a request reached the platform.'),
  ToolChoice: name(ToolChoice, 'Whether a model must call a tool, and which.'),
  ToolHealth: name(Health, 'The state of the connection to a tool’s MCP server.'),
  ToolLevel: name(Level, 'How sensitive a tool is.'),
  ToolType: name(ToolTypeView, 'A type that a tool can have, and the fields of its tools.'),
  TrustedIssuer: name(TrustedIssuer, 'An authorization server whose access tokens are accepted.'),
  TurnStatus: name(TurnStatus, 'The status of a turn.'),
  Usage: name(Usage, 'Tokens and their cost.'),
  User: name(User, 'A person who signs in to the dashboard.'),
  UserRole: name(Role, 'A role of people, which is a built-in access policy.'),
  UserStatus: name(UserStatus, 'Whether a person can sign in.'),
  Webhook: name(Webhook, 'A URL that events are sent to.'),
  WebhookDelivery: name(Delivery, 'One event sent to one webhook, with its body.'),
  WebhookDeliverySummary: name(DeliverySummary, 'A delivery without its body.'),
  WebhookEvent: name(WebhookEvent, 'An event that webhooks can receive.'),
  WebhookWithSecret: name(WebhookWithSecret, 'A webhook with its signing secret.'),
  WorkflowCall: name(WorkflowCall, 'A call in a step of a workflow run.'),
  WorkflowDefinition: name(Workflow, 'The steps of a workflow.'),
  WorkflowRun: name(WorkflowRun, 'One run of a workflow or of a program.'),
  WorkflowRunDetail: name(WorkflowRunDetail, 'A workflow run with its steps and calls.'),
  WorkflowRunStatus: name(RunStatus, 'The status of a workflow run.'),
  WorkflowStep: name(WorkflowStep, 'A step of a workflow run.'),
  XmlPrompt: name(XmlPrompt, 'The tool section of a system prompt for an agent that writes XML.'),
  XmlResult: name(XmlResult, 'The outcome of one block of an XML message.'),
  XmlResults: name(XmlResults, 'The outcome of an XML message.'),
}

function name(schema: z.ZodType, description: string): NamedSchema {
  return { schema, description }
}

/** The fields of a tool depend on the platform's tool types, so its schema comes from the operation. */
export function namedSchemasOf(operations: readonly Operation[]): Readonly<Record<string, NamedSchema>> {
  const tool = operations.find((operation) => operation.name === 'get-tool')
  return tool ? { ...named, Tool: name(tool.output, 'A registered tool, with one action or several.') } : named
}
