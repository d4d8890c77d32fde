import { ConnectionDraft } from '#core/contract/definitions/connections.ts';
import type { Output } from '#core/contract/index.ts';
import { SSH_LABELS } from '#core/contract/definitions/connection-fields.ts';
import { marksOf } from '#core/contract/marks.ts';
import { duration } from '#ui/src/kernel/words.ts';
import { inLabels } from '#ui/src/kernel/form/form.ts';

type TestCode = NonNullable<Output<'connections.test'>['code']>;

/** What a test found at one field. */
export interface FieldFault {
  readonly field: string;
  readonly message: string;
  /** The key that an SSH server presents, if it is the field's fault. */
  readonly host_key: string | undefined;
}

/** The fault of a failed test at its field. Undefined: the test names no field. */
export function faultOf(result: Output<'connections.test'> | undefined): FieldFault | undefined {
  if (result?.field === undefined) return undefined;
  return { field: result.field, message: inFields(result.message), host_key: result.host_key };
}

/** The label of a field of an SSH server, such as `ssh.jump.0.host`. Undefined: it is another field. */
export function sshLabel(field: string): string | undefined {
  const [, jump, name] = /^ssh\.(?:jump\.(\d+)\.)?(\w+)$/.exec(field) ?? [];
  const label = name === undefined ? undefined : SSH_LABELS[name];
  return label === undefined || jump === undefined ? label : `${label} of jump server ${Number(jump) + 1}`;
}

export const UNSAVED = 'Changes to this connection are not saved.';

/** A database message with the form's labels instead of API names. */
export function inFields(message: string): string {
  const choices = marksOf(ConnectionDraft.entries.ssl_mode)?.choices ?? {};
  const chosen = message.replaceAll(/\bssl_mode to ([a-z-]*[a-z])/g, (text, mode: string) =>
    Object.hasOwn(choices, mode) ? `ssl_mode to “${choices[mode]?.label}”` : text,
  );
  const named = chosen.replaceAll(/\bssh(?:\.jump\.\d+)?\.\w+\b/g, (field) =>
    sshLabel(field) === undefined ? field : `“${sshLabel(field)}”`,
  );
  return inLabels({ code: 'database_unreachable', detail: named, errors: [] }, ConnectionDraft).detail;
}

/** The field that is most likely wrong, for the focus. */
export const SUSPECT: Partial<Record<TestCode, string>> = {
  dns_failed: 'host',
  refused: 'port',
  timeout: 'host',
  auth_failed: 'password',
  database_missing: 'database',
  tls_failed: 'ssl_mode',
  private_network_blocked: 'host',
  no_primary: 'host',
  tunnel_unreachable: 'ssh.host',
  tunnel_refused: 'ssh.private_key',
  tunnel_host_key: 'ssh.host_key',
};

type HostState = NonNullable<Output<'connections.test'>['hosts']>[number];

/** A host of a connection, with its role. */
export function hostLine({ host, role, lag_ms, error }: HostState): string {
  if (role === null) return `${host}: ${inFields(error ?? 'Not responding.')}`;
  if (role === 'primary') return `${host}: primary`;
  return lag_ms === null ? `${host}: standby, lag unknown` : `${host}: standby, ${duration(lag_ms)} behind`;
}
