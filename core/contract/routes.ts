import { type OperationName, operations } from './index.ts';
import type { Role } from './identity/roles.ts';
import { leastRole, type Operation } from './operation.ts';

/** `least`: the least role of a person who may call it; null: anybody. */
type Route = Pick<Operation, 'method' | 'path' | 'query' | 'file'> & { readonly least: Role | null };

/** Where each operation is. The build of the interface puts the finished list here, so that no schema is part of its first page. */
export const routes = Object.fromEntries(
  (Object.entries(operations) as [OperationName, Operation][]).map(([name, definition]) => {
    const { method, path, query, file } = definition;
    const route: Route = {
      method,
      path,
      least: leastRole(definition),
      ...(query === undefined ? {} : { query }),
      ...(file === undefined ? {} : { file }),
    };
    return [name, route];
  }),
) as unknown as Readonly<Record<OperationName, Route>>;
