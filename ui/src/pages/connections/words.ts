import { ConnectionDraft } from '#core/contract/definitions/connections.ts';
import type { Output } from '#core/contract/index.ts';
import { marksOf } from '#core/contract/marks.ts';
import { inLabels } from '#ui/src/kernel/form/form.ts';

type TestCode = NonNullable<Output<'connections.test'>['code']>;

export const UNSAVED = 'Changes to this connection are not saved.';

/** A database message with the form's labels instead of API names. */
export function inFields(message: string): string {
  const choices = marksOf(ConnectionDraft.entries.ssl_mode)?.choices ?? {};
  const chosen = message.replaceAll(/\bssl_mode to ([a-z-]*[a-z])/g, (text, mode: string) =>
    Object.hasOwn(choices, mode) ? `ssl_mode to “${choices[mode]?.label}”` : text,
  );
  return inLabels({ code: 'database_unreachable', detail: chosen, errors: [] }, ConnectionDraft).detail;
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
};
