import { type ConnectionDraft, DB_TYPE_CHOICES } from '#core/contract/definitions/connections.ts';
import { engineOf } from '#core/engines/index.ts';
import { isHostList, listFault } from '#core/engines/shared/hosts/host-list.ts';
import type { FieldError } from '#core/errors.ts';

/** Lists of hosts and targets that have no effect on this kind of database, or cannot be read. */
export function hostFaults({ db_type, host, target }: Pick<ConnectionDraft, 'db_type' | 'host' | 'target'>): FieldError[] {
  const { label } = DB_TYPE_CHOICES[db_type];
  const replicated = engineOf(db_type).replicated?.includes(db_type) === true;
  const is_list = isHostList(host);
  const list = is_list && host !== null ? (replicated ? listFault(host) : `${label} takes one host. Enter it alone.`) : null;
  const chosen =
    target === 'any'
      ? null
      : !replicated
        ? `target has no effect on ${label}, which takes one host. Set it to any.`
        : target === 'prefer_standby' && !is_list
          ? 'prefer_standby needs several hosts: enter the standby and the primary, separated by a comma.'
          : null;
  return [
    ...(list === null ? [] : [{ field: 'host', message: list }]),
    ...(chosen === null ? [] : [{ field: 'target', message: chosen }]),
  ];
}
