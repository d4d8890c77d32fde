import { type ServerConfigPatch } from '#core/contract/settings/config.ts';
import { DnsCredentials } from '#core/contract/settings/setting-values.ts';
import { MASK } from '#core/contract/definitions/connections.ts';
import { REDACTED } from '#core/contract/history.ts';
import { AppError, invalidField } from '#core/errors.ts';
import type { Claims } from '#core/query/identity.ts';
import { type Keyring, readSecret, type SecretReader } from '#core/lib/secrets.ts';
import { isReference, isSealed } from '#core/lib/sealed-values.ts';
import { canonical } from '#snapshots/format/canonical.ts';
import type { StoredSecret } from '#core/contract/fields.ts';
import * as v from 'valibot';
import type { Settings } from './settings.ts';

type Secrets = Pick<Settings, 'oauth_clients' | 'introspection_client_secret' | 'dns_credentials'>;
type SecretsPatch = Pick<ServerConfigPatch, keyof Secrets>;

/** The associated data of an encrypted secret in the configuration. */
const pathOf = (field: string): string => `server_config/${field}`;
const clientPath = (client_id: string): string => pathOf(`oauth_clients/${client_id}/client_secret`);

/** Shown instead of a secret in responses and the history. As input it means "unchanged". */
const isMask = (secret: unknown): boolean => secret === MASK || secret === REDACTED;

/** The secrets after a change: new ones are encrypted, omitted and masked ones stay. */
export function mergeSecrets(keyring: Keyring, before: Secrets, patch: SecretsPatch): Secrets {
  const { introspection_client_secret: secret, dns_credentials: credentials, oauth_clients: clients } = patch;
  return {
    introspection_client_secret:
      secret === undefined || isMask(secret)
        ? before.introspection_client_secret
        : seal(keyring, pathOf('introspection_client_secret'), secret),
    dns_credentials: credentials === undefined ? before.dns_credentials : mergeDns(keyring, before.dns_credentials, credentials),
    oauth_clients: clients === undefined ? before.oauth_clients : mergeClients(keyring, before.oauth_clients, clients),
  };
}

function mergeClients(
  keyring: Keyring,
  before: Secrets['oauth_clients'],
  drafts: NonNullable<SecretsPatch['oauth_clients']>,
): Secrets['oauth_clients'] {
  const stored = new Map(before.map((client) => [client.client_id, client]));
  const seen = new Set<string>();
  return drafts.map(({ client_id, client_secret, toolsets, claims }, index) => {
    const field = `oauth_clients.${index}`;
    if (seen.has(client_id)) throw invalidField(`${field}.client_id`, `${field}.client_id is already in the list.`);
    seen.add(client_id);
    const current = stored.get(client_id);
    const access = accessOf(
      toolsets === undefined ? current?.toolsets : toolsets,
      mergeClaims(current?.claims, claims as Claims | undefined),
    );
    if (client_secret !== undefined && !isMask(client_secret)) {
      return { client_id, client_secret: seal(keyring, clientPath(client_id), client_secret), ...access };
    }
    if (current === undefined) {
      throw invalidField(
        `${field}.client_secret`,
        `${field}.client_secret is required because no secret is stored for this client.`,
      );
    }
    return { client_id, client_secret: current.client_secret, ...access };
  });
}

/** A reader who cannot see the values of claims sends their names back, which changes nothing. */
const mergeClaims = (current: Claims | undefined, sent: Claims | undefined): Claims | undefined =>
  sent && current
    ? Object.fromEntries(
        Object.entries(sent).map(([name, value]) => [name, value === REDACTED ? (current[name] ?? value) : value]),
      )
    : (sent ?? current);

/** Empty fields are not stored. */
const accessOf = (toolsets: readonly string[] | null = null, claims: Claims = {}) => ({
  ...(toolsets === null ? {} : { toolsets }),
  ...(Object.keys(claims).length === 0 ? {} : { claims }),
});

function mergeDns(
  keyring: Keyring,
  before: StoredSecret | null,
  sent: DnsCredentials | { readonly ref: string } | null,
): StoredSecret | null {
  if (sent === null || isReference(sent)) return sent;
  const entries = Object.entries(sent) as [string, string][];
  const masked = entries.some(([, value]) => isMask(value));
  const current_text = masked && isSealed(before) ? keyring.open(before.$sealed, pathOf('dns_credentials')) : '{}';
  const stored = new Map(Object.entries(JSON.parse(current_text) as Readonly<Record<string, string>>));
  const merged = entries.map(([name, value]) => {
    const current = isMask(value) ? stored.get(name) : value;
    const field = `dns_credentials.${name}`;
    if (current === undefined) throw invalidField(field, `${field} is required because no secret is stored.`);
    return [name, current];
  });
  return seal(keyring, pathOf('dns_credentials'), canonical(Object.fromEntries(merged)));
}

/**
 * Opens the DNS credentials. A reference has them as JSON, or the API token alone. Throws `secrets_unavailable` when they cannot
 * be read.
 */
export async function openDnsCredentials(reader: SecretReader, stored: StoredSecret | null): Promise<DnsCredentials | null> {
  if (stored === null) return null;
  const text = await readSecret(stored, pathOf('dns_credentials'), reader);
  const is_json = text.trimStart().startsWith('{');
  const result = v.safeParse(DnsCredentials, is_json ? parsed(text) : { api_token: text });
  if (result.success) return result.output;
  throw new AppError('secrets_unavailable', 'dns_credentials cannot be used: the secret is not the JSON of the credentials.');
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}

/**
 * Encrypts secrets of older keys again. A secret that no key decrypts is left unchanged, because the change may not concern it.
 */
export function resealSecrets<S extends Partial<Secrets>>(keyring: Keyring, settings: S): S {
  const again = (path: string, value: StoredSecret): StoredSecret => {
    if (isReference(value)) return value;
    const { $sealed } = value;
    if (!keyring.stale($sealed) || !keyring.key_ids.includes($sealed.split('.')[1] ?? '')) return value;
    return { $sealed: keyring.seal(keyring.open($sealed, path), path) };
  };
  const renewed: { -readonly [K in keyof Secrets]?: Secrets[K] } = {};
  if (settings.introspection_client_secret) {
    const path = pathOf('introspection_client_secret');
    renewed.introspection_client_secret = again(path, settings.introspection_client_secret);
  }
  if (settings.dns_credentials) renewed.dns_credentials = again(pathOf('dns_credentials'), settings.dns_credentials);
  if (settings.oauth_clients) {
    renewed.oauth_clients = settings.oauth_clients.map((client) => ({
      ...client,
      client_secret: again(clientPath(client.client_id), client.client_secret),
    }));
  }
  return { ...settings, ...renewed };
}

type Sent = string | { readonly ref: string };

function seal(keyring: Keyring, path: string, sent: Sent): StoredSecret;
function seal(keyring: Keyring, path: string, sent: Sent | null): StoredSecret | null;
function seal(keyring: Keyring, path: string, sent: Sent | null): StoredSecret | null {
  return sent === null || isReference(sent) ? sent : { $sealed: keyring.seal(sent, path) };
}
