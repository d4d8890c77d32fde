import { type OperationName, operations } from './index.ts';
import type { Role } from './identity/roles.ts';
import { isCreation, leastRole, type Operation } from './operation.ts';

/** `least`: the least role of a person who may call it; null: anybody. `creates`: with an `Idempotency-Key` it does so once. */
type Route = Pick<Operation, 'method' | 'path' | 'query' | 'file'> & { readonly least: Role | null; readonly creates?: true };

/** Where each operation is. The build of the interface puts the finished list here, so that no schema is part of its first page. */
export const routes = Object.fromEntries(
  (Object.entries(operations) as [OperationName, Operation][]).map(([name, definition]) => {
    const { method, path, query, file } = definition;
    const route: Route = {
      method,
      path,
      least: leastRole(definition),
      ...(isCreation(definition) ? { creates: true } : {}),
      ...(query === undefined ? {} : { query }),
      ...(file === undefined ? {} : { file }),
    };
    return [name, route];
  }),
) as unknown as Readonly<Record<OperationName, Route>>;
