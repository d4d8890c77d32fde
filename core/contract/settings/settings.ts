import * as v from 'valibot';
import { integerBetween, shownText, textBetween } from '../fields.ts';
import { LINT_RULE_NAMES, LINT_RULES, LintRule } from './lint-rules.ts';
import { MOST_SAMPLES } from '../deploy/replay.ts';
import { LOG_LEVELS } from '../log-levels.ts';
import { field } from '../marks.ts';
import { DEFAULT_GATES, DeployGatesPatch } from './deploy-gates.ts';
import { introduction } from './introduction.ts';
import { JwtIssuers } from './jwt-issuers.ts';
import {
  AuthType,
  BindAddress,
  DnsProvider,
  Domain,
  HttpUrl,
  IssuerUrl,
  Origin,
  ScopeName,
  Transport,
} from './setting-values.ts';

const EVERY_ADDRESS: readonly unknown[] = ['0.0.0.0', '::', '[::]'];
const said = (value: unknown): string => (typeof value === 'string' || typeof value === 'number' ? String(value) : 'not set');
const instead = (label: string, name: string, now: unknown, old: unknown): string =>
  `${label}: ${name} is ${said(now)} instead of ${said(old)}.`;
/** Whether the server asked an introspection endpoint before and does so after. */
const introspects = (whole: Readonly<Record<'old' | 'now', Readonly<Record<string, unknown>>>>): boolean =>
  [whole.old, whole.now].every((server) => server['auth_type'] === 'oauth_introspection');

/** Settings that a snapshot holds: a change takes effect at the next deploy. */
export const frozenSettings = {
  server_name: field(shownText(100), {
    label: 'Server name',
    help: 'Shown by clients, and used to name the server in client snippets.',
    open: true,
    default: 'Sluice',
  }),
  transport: field(Transport, {
    label: 'Transport',
    control: 'cards',
    choices: {
      http: { label: 'Streamable HTTP', help: 'For current MCP clients.' },
      sse: { label: 'HTTP and SSE', help: 'Also serves /sse and /messages for clients from 2024.' },
      stdio: {
        label: 'Standard input and output',
        help: 'Only for clients that start the server themselves. The network endpoint answers 404.',
      },
    },
    // SSE is served beside HTTP, and the command for stdio works with every setting.
    breaking: (now, old) =>
      old === 'stdio' || (now === 'sse' && old === 'http')
        ? null
        : instead('Clients must connect in another way', 'transport', now, old),
    default: 'http',
  }),
  host: field(BindAddress, {
    label: 'Listen address',
    help: '127.0.0.1 accepts clients on this machine only, 0.0.0.0 from every network.',
    control: 'mono',
    breaking: (now, old) =>
      EVERY_ADDRESS.includes(now) ? null : instead('Clients must connect to another address', 'host', now, old),
    default: '0.0.0.0',
  }),
  port: field(integerBetween(1, 65_535), {
    label: 'Port',
    breaking: (now, old) => instead('Clients must connect to another port', 'port', now, old),
    default: 8_080,
  }),
  log_level: field(v.picklist(LOG_LEVELS), {
    label: 'Log level',
    choices: {
      DEBUG: { label: 'Debug' },
      INFO: { label: 'Info' },
      WARNING: { label: 'Warning' },
      ERROR: { label: 'Error' },
    },
    default: 'INFO',
  }),
  otel_enabled: field(v.boolean(), {
    label: 'OpenTelemetry traces',
    help: 'Sends traces to the collector at SVC_OTLP_ENDPOINT.',
    default: false,
  }),
  auth_type: field(AuthType, {
    label: 'Authentication',
    control: 'cards',
    choices: {
      none: {
        label: 'None',
        help: 'Anyone who can reach the address can call every tool. Only for this machine or a closed network.',
      },
      bearer: { label: 'Access token', help: 'One token per client, created and revoked in MCP access.' },
      oauth_credentials: {
        label: 'OAuth client credentials',
        help: 'Clients exchange their ID and secret for short-lived tokens.',
      },
      oauth_introspection: {
        label: 'External authorization server',
        help: 'Your own authorization server issues the tokens. Sluice asks it whether each one is active.',
      },
      jwt: {
        label: 'Signed tokens of another issuer',
        help: 'Keycloak, Entra, Okta or Auth0 issue the tokens. Sluice verifies them with the public keys of the issuer.',
      },
      oauth: {
        label: 'Sign-in',
        help: 'People sign in here from Claude, ChatGPT, Cursor, VS Code and other MCP clients. Needs an HTTPS address.',
      },
    },
    breaking: (now, old) => (now === 'none' ? null : instead('Clients must authenticate in another way', 'auth_type', now, old)),
    default: 'none',
  }),
  token_ttl_seconds: field(integerBetween(60, 604_800), { label: 'Token lifetime', unit: 's', default: 3_600 }),
  introspection_url: field(v.nullable(HttpUrl), {
    label: 'Introspection URL',
    control: 'url',
    placeholder: 'https://login.example.com/introspect',
    breaking: (now, old, whole) =>
      introspects(whole) ? instead('Clients need tokens of another authorization server', 'introspection_url', now, old) : null,
    default: null,
  }),
  introspection_client_id: field(v.nullable(textBetween(1, 255)), {
    label: 'Introspection client ID',
    control: 'mono',
    default: null,
  }),
  introspection_cache_ttl_seconds: field(integerBetween(0, 3_600), {
    label: 'Introspection cache lifetime',
    unit: 's',
    help: 'A token is checked again after this time. 0 checks every call.',
    default: 60,
  }),
  cors_origins: field(v.pipe(v.array(Origin), v.maxLength(100)), {
    label: 'Allowed origins',
    help: 'Such as https://app.example.com: scheme and host, without a path. For the REST API a change counts at once, for MCP at the next deploy.',
    default: () => ['http://localhost:3000', 'http://localhost:5173'],
  }),
};

const issuersIn = (value: unknown): string[] =>
  Array.isArray(value) ? value.map((entry: { readonly issuer?: unknown }) => said(entry.issuer)) : [];
const droppedIssuers = (now: unknown, old: unknown): string[] => {
  const kept = issuersIn(now);
  return issuersIn(old).filter((issuer) => !kept.includes(issuer));
};
/** Whose tokens count. */
const whoCounts = {
  accept_mcp_tokens: field(v.boolean(), {
    label: 'Accept access tokens',
    help: 'With sign-in or signed tokens, access tokens created in MCP access work too.',
    default: true,
  }),
  jwt_issuers: field(JwtIssuers, {
    label: 'Issuers',
    help: 'Authorization servers whose signed access tokens are accepted.',
    breaking: (now, old, whole) =>
      [whole.old, whole.now].every((server) => server['auth_type'] === 'jwt') && droppedIssuers(now, old).length > 0
        ? `Clients need tokens of another issuer: jwt_issuers no longer has ${droppedIssuers(now, old).join(', ')}.`
        : null,
    default: () => [],
  }),
};

/** The same, but absent from a snapshot while it has its default: what an earlier release has frozen keeps its hash. */
export const frozenWhenSet = {
  replay_samples: field(integerBetween(0, MOST_SAMPLES), {
    label: 'Calls kept for replays',
    help: 'Each host keeps its last calls of reading tools in memory, with arguments and caller, to run them on another version before it is deployed. Takes effect with a deploy. 0 keeps none.',
    default: 0,
  }),
  ...introduction,
  ...whoCounts,
  introspection_issuer: field(v.nullable(IssuerUrl), {
    label: 'Issuer',
    help: "The issuer in your authorization server's own metadata, path included. Defaults to the origin of the introspection URL.",
    control: 'url',
    placeholder: 'https://login.example.com/realms/shop',
    default: null,
  }),
  introspection_scopes: field(v.pipe(v.array(ScopeName), v.maxLength(50)), {
    label: 'Scopes',
    help: 'Listed for clients, which request them from the issuer. Sluice does not check them.',
    default: () => [],
  }),
  introspection_audience: field(v.nullable(textBetween(1, 2_048)), {
    label: 'Required audience',
    help: 'Every token must have it in aud. If empty, tokens without an audience are accepted too.',
    control: 'mono',
    breaking: (now, old, whole) =>
      now !== null && introspects(whole)
        ? instead('Clients need tokens for another audience', 'introspection_audience', now, old)
        : null,
    default: null,
  }),
};

/** Settings that take effect at once. */
const liveSettings = {
  ssl_enabled: field(v.boolean(), { label: 'HTTPS enabled', help: 'The domain must resolve to this server.', default: false }),
  ui_domain: field(v.nullable(Domain), { label: 'UI domain', control: 'mono', placeholder: 'sluice.example.com', default: null }),
  mcp_domain: field(v.nullable(Domain), {
    label: 'MCP domain',
    help: 'Leave empty to use the UI domain.',
    control: 'mono',
    placeholder: 'mcp.example.com',
    default: null,
  }),
  mcp_proxy: field(v.boolean(), {
    label: 'MCP on the front port',
    help: 'Serves /mcp on the front port too, so clients need one address and one certificate.',
    default: false,
  }),
  acme_email: field(v.nullable(v.pipe(textBetween(3, 254), v.email('must be an email address'))), {
    label: 'Contact email',
    help: 'Contact of the account at the certificate authority. Let’s Encrypt sends no warnings: use a webhook for the event certificate.',
    control: 'email',
    default: null,
  }),
  acme_challenge: field(v.picklist(['http-01', 'dns-01']), {
    label: 'Domain validation',
    control: 'cards',
    choices: {
      'http-01': { label: 'HTTP-01', help: 'Port 80 of the domain must reach this server.' },
      'dns-01': { label: 'DNS-01', help: 'Sluice creates a TXT record at your DNS provider. No port has to be open.' },
    },
    default: 'http-01',
  }),
  dns_provider: field(v.nullable(DnsProvider), {
    label: 'DNS provider',
    choices: {
      null: { label: 'Choose a provider' },
      cloudflare: { label: 'Cloudflare' },
      route53: { label: 'Amazon Route 53' },
    },
    default: null,
  }),
  auto_renew: field(v.boolean(), {
    label: 'Automatic renewal',
    help: 'Renews the certificate before it expires.',
    default: true,
  }),
  prompt_guard_enabled: field(v.boolean(), {
    label: 'Prompt guard enabled',
    help: 'Rejects definitions with text that gives orders to a model.',
    default: true,
  }),
  prompt_guard_threshold: field(v.picklist(['low', 'medium', 'high']), {
    label: 'Minimum severity',
    control: 'cards',
    choices: {
      low: { label: 'Low', help: 'Anything unusual. Expect false positives.' },
      medium: { label: 'Medium', help: 'Text that reads like an order to a model.' },
      high: { label: 'High', help: 'Only text that is almost never harmless.' },
    },
    default: 'medium',
  }),
  prompt_guard_allow: field(v.pipe(v.array(textBetween(1, 100)), v.maxLength(500)), {
    label: 'Disabled rules',
    default: () => [],
  }),
  deploy_gates: field(DeployGatesPatch, {
    label: 'Deploy gates',
    help: 'What each check does with its findings at a deploy: nothing, warn, or block it.',
    default: () => ({ ...DEFAULT_GATES }),
  }),
  drift_check_minutes: field(integerBetween(0, 10_080), {
    label: 'Drift check',
    unit: 'min',
    help: 'How often deployed statements are checked against their databases, besides after each deploy. 0 turns the check off.',
    default: 60,
  }),
  lint_off: field(v.pipe(v.array(LintRule), v.maxLength(LINT_RULE_NAMES.length)), {
    label: 'Disabled lint rules',
    help: 'Their findings are not shown, to people or agents. Defaults to none.',
    choices: LINT_RULES,
    default: () => [],
  }),
  oauth_access_minutes: field(integerBetween(5, 1_440), {
    label: 'Access token lifetime',
    unit: 'min',
    help: 'How long a token of a signed-in person works. Clients renew it by themselves.',
    default: 60,
  }),
  oauth_refresh_days: field(integerBetween(1, 90), {
    label: 'Stay signed in',
    unit: 'days',
    help: 'A client that is not used for this long must sign in again.',
    default: 30,
  }),
  oauth_grant_days: field(integerBetween(1, 366), {
    label: 'Sign in again after',
    unit: 'days',
    help: 'A client must sign in again this long after a person let it in, however often it is used.',
    default: 90,
  }),
  dynamic_registration: field(v.boolean(), {
    label: 'Client registration',
    help: 'Lets clients register themselves (RFC 7591). Cursor and many others need it.',
    default: true,
  }),
  password_sign_in: field(v.boolean(), {
    label: 'Sign in with a password',
    help: 'When off, people sign in through identity providers only. The command line can turn it on again.',
    default: true,
  }),
  log_arguments_hours: field(integerBetween(1, 720), {
    label: 'Keep logged arguments',
    unit: 'h',
    help: 'Arguments of tools with Log arguments are removed from the request log after this time. Their calls stay.',
    default: 24,
  }),
  agent_enabled: field(v.boolean(), {
    label: 'Agent endpoint enabled',
    help: 'When disabled, every call is answered 403. Tokens are kept and work again later.',
    default: true,
  }),
  agent_rate_limit: field(integerBetween(1, 1_000_000), {
    label: 'Agent rate limit',
    unit: 'requests per minute',
    help: 'For each token, over MCP and REST together.',
    default: 120,
  }),
};

/** Every setting that is read as it is written. */
export const plainSettings = { ...frozenSettings, ...frozenWhenSet, ...liveSettings };
