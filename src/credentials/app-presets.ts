import type { AuthMethod, Quirks } from './oauth/types.ts'

/** What is known about the OAuth of an app. Leave out what its vendor does not document: a missing field is safer than a wrong one. */
export interface AppPreset {
  readonly name: string
  /** Published by apps that support OpenID Connect. */
  readonly issuer?: string
  readonly authorize: string
  readonly token: string
  readonly revoke?: string
  /** Enough to connect and to see who connected. Operators choose others for what their tools do. */
  readonly scopes?: readonly string[]
  readonly pkce?: true
  /** `client_secret_post` by default. */
  readonly authMethod?: AuthMethod
  /** Where the operator registers a client. */
  readonly console?: string
  readonly quirks?: Quirks
}

const basic = 'client_secret_basic'
const slack = {
  authorize: 'https://slack.com/oauth/v2/authorize',
  token: 'https://slack.com/api/oauth.v2.access',
  revoke: 'https://slack.com/api/auth.revoke',
  console: 'https://api.slack.com/apps',
}

export const appPresets: Readonly<Record<string, AppPreset>> = {
  airtable: {
    name: 'Airtable',
    authorize: 'https://airtable.com/oauth2/v1/authorize',
    token: 'https://airtable.com/oauth2/v1/token',
    scopes: ['data.records:read', 'schema.bases:read', 'user.email:read'],
    pkce: true,
    authMethod: basic,
    console: 'https://airtable.com/create/oauth',
    quirks: { account: { url: 'https://api.airtable.com/v0/meta/whoami', paths: ['email', 'id'] } },
  },
  asana: {
    name: 'Asana',
    authorize: 'https://app.asana.com/-/oauth_authorize',
    token: 'https://app.asana.com/-/oauth_token',
    revoke: 'https://app.asana.com/-/oauth_revoke',
    pkce: true,
    console: 'https://app.asana.com/0/my-apps',
    quirks: { account: { paths: ['data.email', 'data.name'] } },
  },
  atlassian: {
    name: 'Atlassian (Jira and Confluence)',
    authorize: 'https://auth.atlassian.com/authorize',
    token: 'https://auth.atlassian.com/oauth/token',
    scopes: ['read:me', 'read:jira-work', 'offline_access'],
    console: 'https://developer.atlassian.com/console/myapps/',
    quirks: {
      authorizationParameters: { audience: 'api.atlassian.com', prompt: 'consent' },
      account: { url: 'https://api.atlassian.com/me', paths: ['email', 'name'] },
    },
  },
  bitbucket: {
    name: 'Bitbucket',
    authorize: 'https://bitbucket.org/site/oauth2/authorize',
    token: 'https://bitbucket.org/site/oauth2/access_token',
    scopes: ['account'],
    authMethod: basic,
    quirks: { account: { url: 'https://api.bitbucket.org/2.0/user', paths: ['username', 'display_name'] } },
  },
  box: {
    name: 'Box',
    authorize: 'https://account.box.com/api/oauth2/authorize',
    token: 'https://api.box.com/oauth2/token',
    revoke: 'https://api.box.com/oauth2/revoke',
    console: 'https://app.box.com/developers/console',
    quirks: { account: { url: 'https://api.box.com/2.0/users/me', paths: ['login', 'name'] } },
  },
  calendly: {
    name: 'Calendly',
    authorize: 'https://auth.calendly.com/oauth/authorize',
    token: 'https://auth.calendly.com/oauth/token',
    console: 'https://developer.calendly.com/',
    quirks: { account: { url: 'https://api.calendly.com/users/me', paths: ['resource.email', 'resource.name'] } },
  },
  clickup: {
    name: 'ClickUp',
    authorize: 'https://app.clickup.com/api',
    token: 'https://api.clickup.com/api/v2/oauth/token',
    quirks: { account: { url: 'https://api.clickup.com/api/v2/user', paths: ['user.email', 'user.username'] } },
  },
  discord: {
    name: 'Discord',
    authorize: 'https://discord.com/oauth2/authorize',
    token: 'https://discord.com/api/oauth2/token',
    revoke: 'https://discord.com/api/oauth2/token/revoke',
    scopes: ['identify'],
    console: 'https://discord.com/developers/applications',
    quirks: { account: { url: 'https://discord.com/api/users/@me', paths: ['username', 'id'] } },
  },
  dropbox: {
    name: 'Dropbox',
    authorize: 'https://www.dropbox.com/oauth2/authorize',
    token: 'https://api.dropboxapi.com/oauth2/token',
    revoke: 'https://api.dropboxapi.com/2/auth/token/revoke',
    scopes: ['account_info.read', 'files.metadata.read'],
    pkce: true,
    console: 'https://www.dropbox.com/developers/apps',
    quirks: {
      authorizationParameters: { token_access_type: 'offline' },
      account: { url: 'https://api.dropboxapi.com/2/users/get_current_account', method: 'POST', paths: ['email'] },
      revocation: 'bearer',
    },
  },
  figma: {
    name: 'Figma',
    authorize: 'https://www.figma.com/oauth',
    token: 'https://api.figma.com/v1/oauth/token',
    scopes: ['current_user:read', 'file_content:read'],
    authMethod: basic,
    console: 'https://www.figma.com/developers/apps',
    quirks: {
      refreshEndpoint: 'https://api.figma.com/v1/oauth/refresh',
      account: { url: 'https://api.figma.com/v1/me', paths: ['email', 'handle'] },
    },
  },
  github: {
    name: 'GitHub',
    authorize: 'https://github.com/login/oauth/authorize',
    token: 'https://github.com/login/oauth/access_token',
    revoke: 'https://api.github.com/applications/{client_id}/grant',
    scopes: ['read:user'],
    pkce: true,
    console: 'https://github.com/settings/developers',
    quirks: { account: { url: 'https://api.github.com/user', paths: ['login'] }, revocation: 'github' },
  },
  gitlab: {
    name: 'GitLab',
    issuer: 'https://gitlab.com',
    authorize: 'https://gitlab.com/oauth/authorize',
    token: 'https://gitlab.com/oauth/token',
    revoke: 'https://gitlab.com/oauth/revoke',
    scopes: ['read_user'],
    pkce: true,
    console: 'https://gitlab.com/-/user_settings/applications',
    quirks: { account: { url: 'https://gitlab.com/api/v4/user', paths: ['username', 'email'] } },
  },
  google: {
    name: 'Google',
    issuer: 'https://accounts.google.com',
    authorize: 'https://accounts.google.com/o/oauth2/v2/auth',
    token: 'https://oauth2.googleapis.com/token',
    revoke: 'https://oauth2.googleapis.com/revoke',
    scopes: ['openid', 'email'],
    pkce: true,
    console: 'https://console.cloud.google.com/apis/credentials',
    // Without both, Google issues a refresh token only for the first connection of an account.
    quirks: { authorizationParameters: { access_type: 'offline', prompt: 'consent' } },
  },
  hubspot: {
    name: 'HubSpot',
    authorize: 'https://app.hubspot.com/oauth/authorize',
    token: 'https://api.hubapi.com/oauth/2026-03/token',
    revoke: 'https://api.hubapi.com/oauth/2026-03/token/revoke',
    scopes: ['oauth'],
    console: 'https://app.hubspot.com/developer',
  },
  intercom: {
    name: 'Intercom',
    authorize: 'https://app.intercom.com/oauth',
    token: 'https://api.intercom.io/auth/eagle/token',
    console: 'https://app.intercom.com/a/developer-signup',
    quirks: { account: { url: 'https://api.intercom.io/me', paths: ['email', 'name'] } },
  },
  linear: {
    name: 'Linear',
    authorize: 'https://linear.app/oauth/authorize',
    token: 'https://api.linear.app/oauth/token',
    scopes: ['read'],
    pkce: true,
    console: 'https://linear.app/settings/api/applications/new',
    quirks: {
      scopeDelimiter: ',',
      account: {
        url: 'https://api.linear.app/graphql',
        method: 'POST',
        body: '{"query":"{ viewer { email name } }"}',
        paths: ['data.viewer.email', 'data.viewer.name'],
      },
    },
  },
  linkedin: {
    name: 'LinkedIn',
    authorize: 'https://www.linkedin.com/oauth/v2/authorization',
    token: 'https://www.linkedin.com/oauth/v2/accessToken',
    scopes: ['openid', 'profile', 'email'],
    console: 'https://www.linkedin.com/developers/apps',
    quirks: { account: { url: 'https://api.linkedin.com/v2/userinfo', paths: ['email', 'name'] } },
  },
  microsoft: {
    name: 'Microsoft',
    authorize: 'https://login.microsoftonline.com/common/oauth2/v2.0/authorize',
    token: 'https://login.microsoftonline.com/common/oauth2/v2.0/token',
    scopes: ['openid', 'email', 'offline_access', 'User.Read'],
    pkce: true,
    console: 'https://entra.microsoft.com/',
    quirks: { account: { url: 'https://graph.microsoft.com/v1.0/me', paths: ['mail', 'userPrincipalName'] } },
  },
  monday: {
    name: 'monday.com',
    authorize: 'https://auth.monday.com/oauth2/authorize',
    token: 'https://auth.monday.com/oauth2/token',
    scopes: ['me:read', 'boards:read'],
    quirks: {
      account: {
        url: 'https://api.monday.com/v2',
        method: 'POST',
        body: '{"query":"{ me { email name } }"}',
        paths: ['data.me.email', 'data.me.name'],
      },
    },
  },
  notion: {
    name: 'Notion',
    authorize: 'https://api.notion.com/v1/oauth/authorize',
    token: 'https://api.notion.com/v1/oauth/token',
    authMethod: basic,
    console: 'https://www.notion.so/my-integrations',
    quirks: {
      authorizationParameters: { owner: 'user' },
      jsonTokenRequest: true,
      account: { paths: ['workspace_name', 'owner.user.person.email'] },
    },
  },
  pipedrive: {
    name: 'Pipedrive',
    authorize: 'https://oauth.pipedrive.com/oauth/authorize',
    token: 'https://oauth.pipedrive.com/oauth/token',
    authMethod: basic,
    quirks: { account: { url: 'https://api.pipedrive.com/v1/users/me', paths: ['data.email', 'data.name'] } },
  },
  reddit: {
    name: 'Reddit',
    authorize: 'https://www.reddit.com/api/v1/authorize',
    token: 'https://www.reddit.com/api/v1/access_token',
    revoke: 'https://www.reddit.com/api/v1/revoke_token',
    scopes: ['identity'],
    authMethod: basic,
    console: 'https://www.reddit.com/prefs/apps',
    quirks: {
      authorizationParameters: { duration: 'permanent' },
      account: { url: 'https://oauth.reddit.com/api/v1/me', paths: ['name'] },
    },
  },
  salesforce: {
    name: 'Salesforce',
    authorize: 'https://login.salesforce.com/services/oauth2/authorize',
    token: 'https://login.salesforce.com/services/oauth2/token',
    revoke: 'https://login.salesforce.com/services/oauth2/revoke',
    scopes: ['openid', 'api', 'refresh_token'],
    pkce: true,
    quirks: {
      account: { url: 'https://login.salesforce.com/services/oauth2/userinfo', paths: ['preferred_username', 'email'] },
    },
  },
  sentry: {
    name: 'Sentry',
    authorize: 'https://sentry.io/oauth/authorize/',
    token: 'https://sentry.io/oauth/token/',
    scopes: ['org:read', 'project:read'],
    quirks: { account: { paths: ['user.email', 'user.name'] } },
  },
  slack: {
    ...slack,
    name: 'Slack (bot)',
    scopes: ['channels:read', 'chat:write'],
    quirks: { scopeDelimiter: ',', account: { paths: ['team.name'] }, revocation: 'bearer' },
  },
  'slack-user': {
    ...slack,
    name: 'Slack (user)',
    scopes: ['search:read', 'users:read'],
    quirks: {
      scopeDelimiter: ',',
      scopeParameter: 'user_scope',
      tokenPath: 'authed_user',
      account: { paths: ['team.name'] },
      revocation: 'bearer',
    },
  },
  spotify: {
    name: 'Spotify',
    authorize: 'https://accounts.spotify.com/authorize',
    token: 'https://accounts.spotify.com/api/token',
    scopes: ['user-read-email'],
    pkce: true,
    authMethod: basic,
    console: 'https://developer.spotify.com/dashboard',
    quirks: { account: { url: 'https://api.spotify.com/v1/me', paths: ['email', 'display_name'] } },
  },
  x: {
    name: 'X',
    authorize: 'https://x.com/i/oauth2/authorize',
    token: 'https://api.x.com/2/oauth2/token',
    revoke: 'https://api.x.com/2/oauth2/revoke',
    scopes: ['tweet.read', 'users.read', 'offline.access'],
    pkce: true,
    authMethod: basic,
    console: 'https://developer.x.com/en/portal/dashboard',
    quirks: { account: { url: 'https://api.x.com/2/users/me', paths: ['data.username'] } },
  },
  zoom: {
    name: 'Zoom',
    authorize: 'https://zoom.us/oauth/authorize',
    token: 'https://zoom.us/oauth/token',
    revoke: 'https://zoom.us/oauth/revoke',
    scopes: ['user:read:user'],
    authMethod: basic,
    console: 'https://marketplace.zoom.us/',
    quirks: { account: { url: 'https://api.zoom.us/v2/users/me', paths: ['email'] } },
  },
}
