import { createPrivateKey, X509Certificate } from 'node:crypto';
import { type ConnectionDraft, DB_TYPE_CHOICES, MASK } from '#core/contract/definitions/connections.ts';
import { type FieldError, invalidField, refuseFields } from '#core/errors.ts';
import type { Context } from '#core/context/context.ts';
import { openOrNull } from '#core/lib/secrets.ts';
import { checkTarget, kindOf } from '#core/engines/index.ts';
import { extraFault, extrasThereAre } from '#core/engines/shared/extras.ts';
import { canonical } from '#snapshots/format/canonical.ts';
import type { StoredSecret } from '#core/contract/fields.ts';
import { sealSsh, type SshDraft, sshFaults, sshKeyFaults } from './ssh-draft.ts';
import { hostFaults } from './checks/hosts.ts';
import { sessionFaults } from './checks/session.ts';
import { changesAny } from '#core/records/versioned.ts';
import { guardDraft } from '#core/records/prompt-guard.ts';
import { type ConnectionRow, secretPath } from '#core/sources/source-pool.ts';
import { isReference, isSealed } from '#core/lib/sealed-values.ts';
import { refuseReferences } from '#core/context/secret-refs.ts';
import { lastState, refuseConnection } from '#core/context/token-limits.ts';

/** A connection to store. Secrets from the request are plain text or references, stored ones are sealed or references. */
export type Draft = {
  [K in keyof ConnectionDraft]:
    | ConnectionDraft[K]
    | (K extends 'password' | 'ssl_key' ? StoredSecret | null : K extends 'ssh' ? SshDraft | null : never);
};

/** Names of passwords, keys, tokens, and addresses that may contain one. Masking a harmless entry is better than showing a secret. */
const SECRET_ENTRY =
  /pass|pwd|secret|token|credential|private|key|pem|pfx|jks|cert|auth|bearer|jwt|signature|sas_|cookie|session|service_account|dsn|ur[il]$|connection_?str/i;
/** Whether an entry of `extra_params` is sealed, because its name suggests a secret. */
export const isSecretEntry = (key: string): boolean => SECRET_ENTRY.test(key);

function mergeDraft(before: ConnectionRow, patch: { [K in keyof ConnectionDraft]?: ConnectionDraft[K] | undefined }): Draft {
  const { id: _, version: _version, created_at: _created, updated_at: _updated, ...stored } = before;
  const sent = Object.fromEntries(Object.entries(patch).filter(([, value]) => value !== undefined));
  return { ...stored, ...sent };
}

/** Checks a connection before it is stored, and seals its secrets. @param before the stored connection. */
export async function prepareConnection(context: Context, id: string, draft: Draft, before: ConnectionRow | null) {
  refuseForeignSecrets(draft.extra_params, before);
  refuseFields([...wrongExtras(draft, before), ...hostFaults(draft), ...sessionFaults(draft), ...sshFaults(draft)]);
  refuseConnection(context.actor, before, draft);
  await refuseReferences(context, before, secretsOf(draft));
  refuseFields([...certificateFaults(draft, before), ...(await sshKeyFaults(draft.ssh))]);
  await checkDraft(context, draft, before);
  return sealDraft(context, id, draft, before);
}

/** Checks an earlier state of a connection, and seals its secrets. */
export async function prepareEarlier(context: Context, earlier: ConnectionRow, before: ConnectionRow | null) {
  const draft = mergeDraft(earlier, {});
  // Deleting it first must not get around the check, so a deleted connection is compared with its last state.
  refuseConnection(context.actor, before ?? (await lastState(context.app, 'connection', earlier.id)), draft);
  await refuseReferences(context, before, secretsOf(draft));
  await checkDraft(context, draft, before);
  return sealDraft(context, earlier.id, draft, before);
}

const secretsOf = ({ password, ssl_key, ssh }: Draft) => ({ password, ssl_key, ssh });

/** Fields of the address of a connection, and `username`, which some types require. */
const TARGET = ['db_type', 'host', 'port', 'database', 'username', 'ssh'];

async function checkDraft(context: Context, draft: Draft, before: ConnectionRow | null): Promise<void> {
  if (before === null || changesAny(draft, before, TARGET)) {
    const errors = requiredFields(draft);
    refuseFields(errors);
    await checkTarget(draft, context.app.policy);
  }
  await guardDraft(context, 'connection', { ...draft }, before);
}

/** Fields that this type of database needs and the draft lacks. */
export function requiredFields(draft: Draft): FieldError[] {
  const { engine } = kindOf(draft.db_type);
  return engine.required_fields
    .filter((field) => draft[field] === null)
    .map((field) => ({ field, message: `${field} is required for ${DB_TYPE_CHOICES[draft.db_type].label}.` }));
}

/** Extra parameters without a sensible effect. Stored ones are not checked until they are changed. */
export function wrongExtras({ db_type, extra_params }: Draft, before: ConnectionRow | null): FieldError[] {
  const { engine, kind } = kindOf(db_type);
  const isStored = (key: string, value: unknown): boolean => {
    const stored = before?.extra_params[key];
    return stored !== undefined && (canonical(stored) === canonical(value) || (value === MASK && isSealed(stored)));
  };
  const name = DB_TYPE_CHOICES[db_type].label.replace(/ \(.*/, '');
  const sent = Object.entries(extra_params).filter(([key, value]) => !isStored(key, value));
  const known = (key: string) => engine.extras.find(({ field }) => field.name === key);
  const unknown = sent.filter(([key]) => known(key) === undefined);
  return sent.flatMap((entry) => {
    const [key, value] = entry;
    const extra = known(key);
    // The valid parameters are listed once, after the last unknown one.
    const instead = entry === unknown.at(-1) ? ` ${extrasThereAre(engine.extras, name, kind.note)}` : '';
    const nothing = `extra_params.${key} has no effect on ${name}. Remove it.${instead}`;
    const message = extra === undefined ? nothing : extraFault(extra, value);
    return message === null ? [] : [{ field: `extra_params.${key}`, message }];
  });
}

/** Certificates and keys that TLS cannot read. Stored ones are not checked until they are changed. */
export function certificateFaults(
  draft: Pick<Draft, 'ssl_ca' | 'ssl_cert' | 'ssl_key'>,
  before: ConnectionRow | null,
): FieldError[] {
  const faults: FieldError[] = [];
  const check = (field: 'ssl_ca' | 'ssl_cert' | 'ssl_key', read: (text: string) => void, message: string): void => {
    const text = draft[field];
    if (typeof text !== 'string' || text === before?.[field]) return;
    try {
      read(text);
    } catch {
      faults.push({ field, message });
    }
  };
  check('ssl_ca', readCertificates, `ssl_ca must be ${CERTIFICATES}`);
  check('ssl_cert', readCertificates, `ssl_cert must be ${CERTIFICATES}`);
  check('ssl_key', (text) => void createPrivateKey(text), `ssl_key must be ${KEY}`);
  return faults;
}

const CERTIFICATES = 'one or more certificates in PEM, from -----BEGIN CERTIFICATE----- to -----END CERTIFICATE-----.';
const KEY = 'a private key in PEM without a passphrase, from -----BEGIN PRIVATE KEY----- to -----END PRIVATE KEY-----.';
const CERTIFICATE = /-----BEGIN (?:TRUSTED |X509 )?CERTIFICATE-----[\s\S]*?-----END (?:TRUSTED |X509 )?CERTIFICATE-----/g;

function readCertificates(text: string): void {
  const found = text.match(CERTIFICATE) ?? [];
  if (found.length === 0) throw new Error('There is no certificate.');
  for (const certificate of found) void new X509Certificate(certificate);
}

/** Throws for a mask without a stored secret, and for sealed values from outside: only Sluice seals. */
function refuseForeignSecrets(extra_params: Draft['extra_params'], before: ConnectionRow | null): void {
  for (const [key, value] of Object.entries(extra_params)) {
    const stored = before?.extra_params[key];
    const field = `extra_params.${key}`;
    if (value === MASK && isSecretEntry(key) && !isSealed(stored)) {
      throw invalidField(field, `${field} is the mask of a secret, but no secret is stored. Send the secret itself.`);
    }
    if (isSealed(value) && !(isSealed(stored) && stored.$sealed === value.$sealed)) {
      throw invalidField(field, `${field} has an invalid format.`);
    }
  }
}

/** Seals plain secrets for this row. Secrets that are sealed, or sent as a mask, stay. */
function sealDraft({ app: { keyring } }: Context, id: string, draft: Draft, before: ConnectionRow | null) {
  const seal = (field: string, value: string | StoredSecret | null): StoredSecret | null => {
    if (value === null || isReference(value)) return value;
    if (typeof value === 'string') return { $sealed: keyring.seal(value, secretPath(id, field)) };
    // A secret that no key opens is left unchanged, because the change may concern other fields.
    const plain = keyring.stale(value.$sealed) ? openOrNull(keyring, value.$sealed, secretPath(id, field)) : null;
    return plain === null ? value : { $sealed: keyring.seal(plain, secretPath(id, field)) };
  };
  const opened = (secret: string | StoredSecret, path: string) =>
    isSealed(secret) ? keyring.open(secret.$sealed, path) : secret;
  const extra_params = Object.fromEntries(
    Object.entries(draft.extra_params).map(([key, value]) => {
      const stored = before?.extra_params[key];
      if (value === MASK && isSealed(stored)) return [key, seal(`extra_params/${key}`, stored)];
      if (isSealed(value)) return [key, seal(`extra_params/${key}`, value)];
      if (!isSecretEntry(key) || value === null) return [key, value];
      return [key, seal(`extra_params/${key}`, typeof value === 'string' ? value : JSON.stringify(value))];
    }),
  );
  return {
    ...draft,
    extra_params,
    password: seal('password', draft.password),
    ssl_key: seal('ssl_key', draft.ssl_key),
    ssh: sealSsh(draft.ssh, before?.ssh ?? null, (secret, path, stored_path = path) =>
      path === stored_path ? seal(path, secret) : seal(path, opened(secret, secretPath(id, stored_path))),
    ),
  };
}
