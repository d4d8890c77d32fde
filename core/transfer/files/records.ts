import * as v from 'valibot';
import { MASK } from '#core/contract/definitions/connections.ts';
import { marked } from '#core/contract/marks.ts';
import { ServerConfigPatch } from '#core/contract/settings/config.ts';
import type { Export } from '#core/contract/transfer.ts';
import { AppError } from '#core/errors.ts';
import { toInvalid } from '#core/process/issues.ts';
import { readStored } from '#core/process/read-value.ts';
import { isReference } from '#core/lib/sealed-values.ts';
import { type Ssh } from '#core/contract/definitions/connection-fields.ts';
import { plainSshSecrets, withoutUnsent } from '#core/definitions/ssh-draft.ts';
import { isSecretEntry } from '#core/definitions/connection-draft.ts';
import type { EntityValues } from '#core/store/entity-table.ts';
import { toVariables } from '#core/settings/settings.ts';
import { canonical, hashOf } from '#snapshots/format/canonical.ts';
import { withoutDefaults } from './defaults.ts';
import { type Room, ROOMS } from './layout.ts';

/** A record with all defaults and without secrets, in the form in which files and servers are compared. */
export interface FileRecord {
  /** `tool:find_orders`. */
  readonly id: string;
  readonly room: Room;
  readonly name: string;
  readonly values: EntityValues;
}

/** A whole configuration: records, and settings by name. */
export interface Configuration<R extends FileRecord = FileRecord> {
  readonly records: ReadonlyMap<string, R>;
  readonly settings: EntityValues;
}

const without = (values: EntityValues, names: readonly string[]): EntityValues =>
  names.length === 0 ? values : Object.fromEntries(Object.entries(values).filter(([name]) => !names.includes(name)));

/** The hash of a record without the fields that the server computes. */
export const hashOfRecord = ({ room, values }: Pick<FileRecord, 'room' | 'values'>): string =>
  hashOfValues(without(values, room.derived));

/** Whether a file contains the same values as the server. Computed fields that the file omits are not compared. */
export function isSameRecord({ room, values }: FileRecord, stored: EntityValues): boolean {
  // A file without the reference of a secret leaves the secret of the server as it is.
  const untouched = secretsOf(room).filter((name) => values[name] === undefined);
  const open = [...room.derived.filter((name) => values[name] === null), ...untouched];
  const [ssh, stored_ssh] = [values['ssh'], stored['ssh']] as readonly (Ssh | null | undefined)[];
  const known = ssh ? { ...stored, ssh: withoutUnsent(ssh, stored_ssh ?? null) } : stored;
  return canonical(without(values, open)) === canonical(without(known, open));
}

export const hashOfValues = (values: unknown): string => hashOf(canonical(values));
export const settingId = (name: string): string => `setting:${name}`;

const PATCH = ServerConfigPatch.entries;
const SECRET_SETTINGS: ReadonlySet<string> = new Set(marked(PATCH, ({ secret }) => secret === true).map(([name]) => name));

/** Settings that files can contain, in order: secret ones only as references. Sign-in is configured on each installation. */
const SETTINGS: readonly string[] = Object.keys(PATCH).filter((name) => name !== 'version');

const secretsOf = ({ schema }: Room): readonly string[] =>
  marked(schema.entries, ({ secret }) => secret === true).map(([name]) => name);

/** The values with all defaults and without secrets, but with their references. Throws `invalid` with each faulty field. */
export function normalise(room: Room, values: EntityValues): EntityValues {
  const result = readStored(room.schema, values);
  if (!result.success) throw toInvalid(result.issues, Object.keys(room.schema.entries));
  const secrets = secretsOf(room);
  return Object.fromEntries(
    Object.entries(result.output).filter(([name, value]) => !secrets.includes(name) || isReference(value)),
  );
}

/** The values in the form in which people write them. */
export function slimValues(room: Room, values: EntityValues): EntityValues {
  const ordered = withoutDefaults(room.schema, values) as EntityValues;
  const { name: _, connection, ...rest } = ordered;
  const slim = { ...(connection === undefined ? {} : { connection }), ...rest };
  const same = canonical(normalise(room, { ...slim, name: values['name'] })) === canonical(values);
  return same ? slim : values;
}

const isSsh = (value: unknown): value is Ssh => typeof value === 'object' && value !== null && 'jump' in value;

/** Fields of a file that contain a secret. */
export function secretFields(room: Room, values: EntityValues): readonly string[] {
  const extra = Object.entries((values['extra_params'] ?? {}) as EntityValues);
  return [
    ...secretsOf(room).filter((name) => (values[name] ?? null) !== null && !isReference(values[name])),
    ...(isSsh(values['ssh']) ? plainSshSecrets(values['ssh']) : []),
    ...extra
      .filter(([key, value]) => isSecretEntry(key) && value !== null && value !== MASK)
      .map(([key]) => `extra_params.${key}`),
  ];
}

/** Converts the export of a server. */
export function fromExport(exported: Export): Configuration {
  const records = ROOMS.flatMap((room) =>
    exported[room.folder].map((values): FileRecord => {
      const name = String(values['name']);
      const unknown = Object.keys(values).filter((field) => !Object.hasOwn(room.schema.entries, field));
      if (unknown.length > 0) {
        const detail = `The server's ${room.folder} have ${unknown.join(' and ')}, which this sluice does not know. Use the release that the server has.`;
        throw new AppError('invalid', detail);
      }
      return { id: `${room.kind}:${name}`, room, name, values: normalise(room, values) };
    }),
  );
  const settings = SETTINGS.flatMap((name) => {
    const value = exported.server_config[name];
    return value === undefined ? [] : [[name, value] as const];
  });
  return { records: new Map(records.map((record) => [record.id, record])), settings: Object.fromEntries(settings) };
}

/** Converts the settings of a file to the form of an export. Throws `invalid`. */
export function normaliseSettings(values: EntityValues): EntityValues {
  const { version: _, ...entries } = PATCH;
  const result = readStored(v.strictObject(entries), values);
  if (!result.success) throw toInvalid(result.issues, SETTINGS);
  const { global_variables, ...settings } = result.output;
  return { ...settings, ...(global_variables === undefined ? {} : { global_variables: toVariables(global_variables) }) };
}

export function secretSettings(values: EntityValues): readonly string[] {
  const clients = Array.isArray(values['oauth_clients']) ? (values['oauth_clients'] as readonly unknown[]) : [];
  const isObject = (value: unknown): value is EntityValues => typeof value === 'object' && value !== null;
  return [
    ...Object.keys(values).filter((name) => SECRET_SETTINGS.has(name) && !isReference(values[name])),
    ...clients.flatMap((client, n) =>
      isObject(client) && Object.hasOwn(client, 'client_secret') && !isReference(client['client_secret'])
        ? [`oauth_clients.${n}.client_secret`]
        : [],
    ),
  ];
}

/** Settings in the form in which people write them. */
export function slimSettings(settings: EntityValues): EntityValues {
  const slim = SETTINGS.flatMap((name) =>
    settings[name] === undefined ? [] : [[name, slimSetting(name, settings[name])] as const],
  );
  return Object.fromEntries(slim);
}

function slimSetting(name: string, value: unknown): unknown {
  if (name !== 'global_variables') return value;
  const variables = Object.entries(value as Readonly<Record<string, { readonly value: string | number | boolean }>>);
  return Object.fromEntries(
    variables.map(([key, variable]) => {
      const same = canonical(toVariables({ [key]: variable.value })[key]) === canonical(variable);
      return [key, same ? variable.value : variable];
    }),
  );
}
