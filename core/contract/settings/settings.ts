import * as v from 'valibot';
import { textBetween, integerBetween, shownText } from '#core/contract/fields.ts';
import { type Choice, field, labelOf } from '#core/contract/marks.ts';
import { LOG_LEVELS } from '#core/contract/log-levels.ts';
import {
  AuthType,
  BindAddress,
  HttpUrl,
  MOST_SAMPLES,
  Origin,
  ProtocolVersion,
  Transport,
  IssuerUrl,
  ScopeName,
} from './setting-values.ts';
import { JwtIssuers } from './jwt-issuers.ts';
import { liveSettings } from './live-settings.ts';

/** Texts that clients and directories read before they list the tools. */
export const introduction = {
  instructions: field(v.nullable(textBetween(1, 2_048)), {
    label: 'Instructions',
    help: 'What models receive when they connect: which data this is and when to look here. Defaults to a sentence made from the tools.',
    control: 'area',
    default: null,
  }),
  skill: field(v.nullable(textBetween(1, 8_000)), {
    label: 'Skill',
    help: 'How to work with this data, for clients that read skills: which tool to use when, in which order, and what to watch for. Sluice adds a list of what the caller sees. Leave empty to offer no skill.',
    control: 'area',
    default: null,
  }),
  openai_apps_challenge: field(
    v.nullable(v.pipe(v.string(), v.regex(/^[\x21-\x7e]{1,512}$/, 'must have 1 to 512 visible ASCII characters'))),
    {
      label: 'OpenAI domain challenge',
      help: 'Served at /.well-known/openai-apps-challenge, where OpenAI checks that this domain is yours. Optional.',
      control: 'mono',
      default: null,
    },
  ),
};

const EVERY_ADDRESS: readonly unknown[] = ['0.0.0.0', '::', '[::]'];

const shown = (value: unknown): string => (typeof value === 'string' || typeof value === 'number' ? String(value) : 'not set');

const instead = (effect: string, field_label: string, now: unknown, old: unknown): string =>
  `${effect}: the ${field_label} is ${shown(now)} instead of ${shown(old)}.`;

/** Whether the server used token introspection before and after the change. */
const introspects = (whole: Readonly<Record<'old' | 'now', Readonly<Record<string, unknown>>>>): boolean =>
  [whole.old, whole.now].every((server) => server['auth_type'] === 'oauth_introspection');

export const TRANSPORT_CHOICES = {
  http: { label: 'Streamable HTTP', help: 'For current MCP clients.' },
  sse: { label: 'HTTP and SSE', help: 'Also serves /sse and /messages for clients from 2024.' },
  stdio: {
    label: 'Standard input and output',
    help: 'Only for clients that start the server themselves. The network endpoint answers 404.',
  },
} as const satisfies Readonly<Record<v.InferOutput<typeof Transport>, Choice>>;

export const AUTH_CHOICES = {
  none: {
    label: 'None',
    help: 'Anyone who can reach the address can call every tool. Only for this machine or a closed network.',
  },
  bearer: { label: 'Access token', help: 'One token per client, created and revoked under Connect.' },
  oauth_credentials: {
    label: 'OAuth client credentials',
    help: 'Clients exchange their ID and secret for short-lived tokens.',
  },
  oauth_introspection: {
    label: 'External authorization server',
    help: 'Your authorization server issues the tokens. Sluice asks it whether each token is active.',
  },
  jwt: {
    label: 'Signed tokens of another issuer',
    help: 'Keycloak, Entra, Okta or Auth0 issue the tokens. Sluice verifies them with the public keys of the issuer.',
  },
  oauth: {
    label: 'Sign-in',
    help: 'People sign in here from Claude, ChatGPT, Cursor, VS Code and other MCP clients. Needs an HTTPS address.',
  },
} as const satisfies Readonly<Record<v.InferOutput<typeof AuthType>, Choice>>;

/** Settings in a snapshot: a change takes effect at the next deploy. */
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
    choices: TRANSPORT_CHOICES,
    // SSE is served beside HTTP, and the stdio command works with every transport.
    breaking: (now, old) =>
      old === 'stdio' || (now === 'sse' && old === 'http')
        ? null
        : instead(
            'Clients must connect in another way',
            'transport',
            labelOf(TRANSPORT_CHOICES, now),
            labelOf(TRANSPORT_CHOICES, old),
          ),
    default: 'http',
  }),
  host: field(BindAddress, {
    label: 'Listen address',
    help: '127.0.0.1 accepts clients on this machine only, 0.0.0.0 from every network.',
    control: 'mono',
    breaking: (now, old) =>
      EVERY_ADDRESS.includes(now) ? null : instead('Clients must connect to another address', 'listen address', now, old),
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
    choices: AUTH_CHOICES,
    breaking: (now, old) =>
      now === 'none'
        ? null
        : instead(
            'Clients must authenticate in another way',
            'authentication',
            labelOf(AUTH_CHOICES, now),
            labelOf(AUTH_CHOICES, old),
          ),
    default: 'none',
  }),
  token_ttl_seconds: field(integerBetween(60, 604_800), { label: 'Token lifetime', unit: 's', default: 3_600 }),
  introspection_url: field(v.nullable(HttpUrl), {
    label: 'Introspection URL',
    control: 'url',
    placeholder: 'https://login.example.com/introspect',
    breaking: (now, old, whole) =>
      introspects(whole) ? instead('Clients need tokens of another authorization server', 'introspection URL', now, old) : null,
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
    help: 'Origins such as https://app.example.com, without a path. A change takes effect for the REST API at once, for MCP at the next deploy.',
    default: () => ['http://localhost:3000', 'http://localhost:5173'],
  }),
};

const issuersIn = (value: unknown): string[] =>
  Array.isArray(value) ? value.map((entry: { readonly issuer?: unknown }) => shown(entry.issuer)) : [];

const droppedIssuers = (now: unknown, old: unknown): string[] => {
  const current = issuersIn(now);
  return issuersIn(old).filter((issuer) => !current.includes(issuer));
};

/** Which tokens are accepted. */
const whoCounts = {
  accept_mcp_tokens: field(v.boolean(), {
    label: 'Accept access tokens',
    help: 'With sign-in or signed tokens, access tokens created under Connect work too.',
    default: true,
  }),
  jwt_issuers: field(JwtIssuers, {
    label: 'Issuers',
    help: 'Authorization servers whose signed access tokens are accepted.',
    breaking: (now, old, whole) =>
      [whole.old, whole.now].every((server) => server['auth_type'] === 'jwt') && droppedIssuers(now, old).length > 0
        ? `Clients need tokens of another issuer: the server no longer accepts those of ${droppedIssuers(now, old).join(', ')}.`
        : null,
    default: () => [],
  }),
};

/** Like `frozenSettings`, but absent from a snapshot while they have their default, which saves space. */
export const frozenWhenSet = {
  undeclared_arguments: field(v.picklist(['answer', 'refuse']), {
    label: 'Undeclared arguments of reading tools',
    help: 'How tools that read handle arguments that they do not declare. Tools that write always reject them.',
    choices: {
      answer: { label: 'Ignore', help: 'Runs the call without them, and names them in the text and in `_meta`.' },
      refuse: { label: 'Reject', help: 'Rejects the call, and names each of them with the nearest declared one.' },
    },
    breaking: (now) => (now === 'refuse' ? 'Tools that read now reject arguments that they do not declare.' : null),
    default: 'answer',
  }),
  min_protocol_version: field(ProtocolVersion, {
    label: 'Minimum protocol version',
    help: 'Clients that speak an older revision of MCP are refused, with the versions that are supported.',
    choices: {
      '2024-11-05': { label: '2024-11-05', help: 'Accepts every client.' },
      '2025-03-26': { label: '2025-03-26' },
      '2025-06-18': { label: '2025-06-18' },
      '2025-11-25': { label: '2025-11-25' },
      '2026-07-28': { label: '2026-07-28', help: 'Only the stateless revision.' },
    },
    breaking: (now, old) =>
      typeof now === 'string' && now > (typeof old === 'string' ? old : '')
        ? `Clients that speak an older MCP version than ${now} are refused.`
        : null,
    default: '2024-11-05',
  }),
  replay_samples: field(integerBetween(0, MOST_SAMPLES), {
    label: 'Calls stored for replay',
    help: 'Each host keeps its last calls of reading tools in memory, with arguments and caller, to run them on another version before it is deployed. Takes effect with a deploy. 0 keeps none.',
    default: 0,
  }),
  secret_ref_ttl_seconds: field(integerBetween(1, 86_400), {
    label: 'Cache lifetime of secret references',
    unit: 's',
    help: 'How long a secret is used before it is read again. A refused password is read again at once.',
    default: 300,
  }),
  files_expire_minutes: field(integerBetween(1, 1_440), {
    label: 'Lifetime of download addresses',
    unit: 'minutes',
    help: 'How long the address of a whole result works.',
    default: 15,
  }),
  files_max_rows: field(integerBetween(1, 1_000_000_000), {
    label: 'Row limit of a file',
    unit: 'rows',
    help: 'A longer download is broken off.',
    default: 5_000_000,
  }),
  files_max_bytes: field(integerBetween(1_048_576, 1024 * 1024 * 1024 * 1024), {
    label: 'Size limit of a file',
    unit: 'bytes',
    help: 'A larger download is broken off.',
    default: 2 * 1024 * 1024 * 1024,
  }),
  files_slots: field(integerBetween(1, 20), {
    label: 'Concurrent downloads',
    unit: 'per connection',
    help: 'In sessions apart from those of calls. Further ones wait in the queue.',
    default: 1,
  }),
  ...introduction,
  ...whoCounts,
  introspection_issuer: field(v.nullable(IssuerUrl), {
    label: 'Issuer',
    help: 'The issuer in the metadata of your authorization server, including the path. Defaults to the origin of the introspection URL.',
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
        ? instead('Clients need tokens for another audience', 'required audience', now, old)
        : null,
    default: null,
  }),
};

/** Settings that are read in the same form as they are written. */
export const plainSettings = { ...frozenSettings, ...frozenWhenSet, ...liveSettings };
