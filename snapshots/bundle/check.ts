import { hostLimits } from '#core/contract/definitions/tools.ts';
import { asksNothing } from '#core/contract/settings/config.ts';
import { marked } from '#core/contract/marks.ts';
import type { LiveToken } from '#core/contract/deploy/control.ts';
import { DB_TYPE_CHOICES } from '#core/contract/definitions/connections.ts';
import { engineOf } from '#core/engines/index.ts';
import { isHostList } from '#core/engines/shared/hosts/host-list.ts';
import type { FrozenConnection, FrozenServer, Snapshot } from '#snapshots/format/format.ts';
import type { BundleTarget } from '#core/engines/shared/descriptor.ts';
import { bundledTokens, readsTokens, usedConnections } from './freeze-bundle.ts';

/** Definitions and settings that do not work in a bundle, as sentences. */
export interface Examined {
  /** Any of these prevents the bundle. */
  readonly faults: readonly string[];
  /** Works, but differently than on a host. */
  readonly warnings: readonly string[];
}

const PLATFORM: Readonly<Record<BundleTarget, string>> = { workers: 'Workers', deno: 'Deno', bun: 'Bun' };

export interface Installation {
  readonly tokens: readonly LiveToken[];
  /** Whether the installation requires authentication (SVC_REQUIRE_AUTH). */
  readonly require_auth: boolean;
}

export function examineBundle(snapshot: Snapshot, { tokens, require_auth }: Installation, target: BundleTarget): Examined {
  const { server } = snapshot.content;
  // A bundle is always public, because it cannot listen on 127.0.0.1 only.
  const open = asksNothing(server);
  const connections = usedConnections(snapshot);
  return {
    faults: [
      ...serverFaults(server),
      ...(open && require_auth ? [OPEN_REFUSED] : []),
      ...connections.flatMap((connection) => connectionFaults(connection, snapshot, target)),
      ...confirmFaults(snapshot, target),
      ...pageFaults(snapshot, target),
      ...fileFaults(snapshot),
    ],
    warnings: [
      ...(open ? [OPEN] : []),
      ...serverWarnings(server, target),
      ...tokenWarnings(server, tokens),
      ...connections.map(({ name }) => limitWarning(name, target)),
      ...toolWarnings(snapshot, target),
      ...confirmWarnings(snapshot, target),
      ...pageWarnings(snapshot, target),
    ],
  };
}

const OPEN =
  'auth_type none: anyone who can reach the bundle can call its tools without credentials. Deploy with bearer or jwt to require them.';
const OPEN_REFUSED =
  'auth_type none cannot be bundled: this installation requires authentication (SVC_REQUIRE_AUTH), and anyone who can reach a bundle can call its tools. Use bearer or jwt.';

const AUTH_FAULTS: Partial<Readonly<Record<FrozenServer['auth_type'], string>>> = {
  oauth: 'people sign in at the Sluice server, whose tokens are for the addresses of its own hosts',
  oauth_credentials: 'its tokens are signed with the encryption key of the installation',
  oauth_introspection: 'it asks another server with a secret about every token',
};

function serverFaults({ auth_type, transport }: FrozenServer): string[] {
  const why = AUTH_FAULTS[auth_type];
  return [
    ...(why === undefined ? [] : [`auth_type ${auth_type} cannot be bundled: ${why}. Use none, bearer or jwt.`]),
    ...(transport === 'stdio' ? ['transport stdio cannot be bundled: a bundle answers HTTP. Set transport to http.'] : []),
  ];
}

function connectionFaults(connection: FrozenConnection, { content }: Snapshot, target: BundleTarget): string[] {
  const { name, id, db_type } = connection;
  const { bundle } = engineOf(db_type);
  if (connection.ssh) {
    return [
      `The connection ${name} goes through an SSH tunnel, which bundles cannot open. Reach the database without ssh, or serve it from a host.`,
    ];
  }
  if (isHostList(connection.host) || connection.target !== undefined) {
    return [
      `The connection ${name} has several hosts or a target, which bundles do not choose by. Enter one host and set target to any, or serve it from a host.`,
    ];
  }
  if (bundle !== undefined) return bundle(connection, target).map((fault) => `The connection ${name} ${fault}`);
  const users = [...content.tools, ...content.resources].filter(({ connection_id }) => connection_id === id);
  const { label } = DB_TYPE_CHOICES[db_type];
  return [
    `The connection ${name} cannot be bundled: bundles reach PostgreSQL and libSQL over the network, and this is ${label}. It is used by ${listed(users.map((user) => user.name))}.`,
  ];
}

function serverWarnings({ transport, otel_enabled, log_level }: FrozenServer, target: BundleTarget): string[] {
  return [
    ...(transport === 'sse' ? ['transport sse: only streamable HTTP is bundled, /sse and /messages answer 404.'] : []),
    ...(otel_enabled ? ['otel_enabled: a bundle sends no traces.'] : []),
    `A bundle has no metrics and no request log in Sluice: it writes a line per call to the console of its platform (log_level ${log_level}).`,
    'A bundle does not follow deploys: after a deploy, bundle again.',
    ...(target === 'workers'
      ? ['Workers: streams of sessions (GET) and subscriptions/listen are refused, because nothing changes while a bundle runs.']
      : []),
  ];
}

function tokenWarnings(server: FrozenServer, tokens: readonly LiveToken[]): string[] {
  if (!readsTokens(server)) return [];
  const included = bundledTokens(tokens);
  const idle = tokens.filter((token) => !token.revoked && !included.includes(token));
  return [
    `${included.length === 1 ? '1 access token is' : `${included.length} access tokens are`} in the bundle as they are now. Creating or revoking one needs a new bundle.`,
    ...idle.map(
      ({ name }) => `The access token ${name} is left out: it has an idle timeout, and a bundle cannot see its use elsewhere.`,
    ),
  ];
}

const limitWarning = (name: string, target: BundleTarget): string =>
  target === 'workers'
    ? `The connection ${name}: every call opens a session of its own; pool_size, max_concurrency and the queue do not hold between calls.`
    : `The connection ${name}: pool_size, max_concurrency and the queue hold in each ${PLATFORM[target]} process, and no Redis shares them.`;

/** For each tool field that works differently in a bundle, the tools that set it. Null and 0 mean not set. */
function toolWarnings({ content: { tools } }: Snapshot, target: BundleTarget): string[] {
  return marked(hostLimits).flatMap(([field, { bundled }]) => {
    const users = tools.filter((tool) => (tool[field] ?? 0) !== 0).map(({ name }) => name);
    if (bundled === undefined || users.length === 0) return [];
    return [`${field} ${target === 'workers' ? bundled.workers : bundled.process}: ${listed(users)}.`];
  });
}

const paged = ({ content: { tools } }: Snapshot): string[] =>
  tools.filter(({ page_by }) => page_by !== undefined).map(({ name }) => name);

/** Each process creates its key for cursors, because a bundle contains no secrets. */
function pageFaults(snapshot: Snapshot, target: BundleTarget): string[] {
  const tools = paged(snapshot);
  if (tools.length === 0 || target !== 'workers') return [];
  return [
    `page_by cannot be bundled for Workers: a cursor would not outlive the isolate that made it. It is used by ${listed(tools)}. Bundle for Deno or Bun, or leave these tools out.`,
  ];
}

/** A bundle has neither downloads nor sessions for them. */
function fileFaults({ content: { tools } }: Snapshot): string[] {
  const users = tools.filter(({ files }) => files !== undefined).map(({ name }) => name);
  if (users.length === 0) return [];
  return [
    `files cannot be bundled: a bundle serves no downloads. It is used by ${listed(users)}. Set files of these tools to null, or leave the tools out.`,
  ];
}

function pageWarnings(snapshot: Snapshot, target: BundleTarget): string[] {
  const tools = paged(snapshot);
  if (tools.length === 0 || target === 'workers') return [];
  return [`page_by: a cursor counts in the ${PLATFORM[target]} process that made it, until it ends: ${listed(tools)}.`];
}

/** Tools that ask a person, grouped by the field that makes them ask. */
const asking = ({ content: { tools } }: Snapshot): [field: string, tools: string[]][] => {
  const all: [string, string[]][] = [
    ['confirm', tools.filter(({ confirm = 'never' }) => confirm !== 'never').map(({ name }) => name)],
    ['ask_missing', tools.filter(({ ask_missing }) => ask_missing === true).map(({ name }) => name)],
  ];
  return all.filter(([, names]) => names.length > 0);
};

/** Workers do not remember used confirmations between calls. */
const confirmFaults = (snapshot: Snapshot, target: BundleTarget): string[] =>
  target !== 'workers'
    ? []
    : asking(snapshot).map(
        ([field, tools]) =>
          `${field} cannot be bundled for Workers: no answer could count only once. It is used by ${listed(tools)}. Bundle for Deno or Bun, or leave these tools out.`,
      );

const confirmWarnings = (snapshot: Snapshot, target: BundleTarget): string[] =>
  target === 'workers'
    ? []
    : asking(snapshot).map(
        ([field, tools]) =>
          `${field}: an answer counts in the ${PLATFORM[target]} process that asked; another one asks again: ${listed(tools)}.`,
      );

const SHOWN = 10;
const listed = (names: readonly string[]): string =>
  names.length <= SHOWN ? names.join(', ') : `${names.slice(0, SHOWN).join(', ')} and ${names.length - SHOWN} more`;
