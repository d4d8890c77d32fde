import { type OperationName, operations } from './index.ts';
import type { Role } from './roles.ts';
import { isCreation, leastRole, type Operation } from './operation.ts';

/** `least`: minimum role of a person; null: anyone. `creates`: an `Idempotency-Key` prevents a second record. */
type Route = Pick<Operation, 'method' | 'path' | 'query' | 'file'> & { readonly least: Role | null; readonly creates?: true };

/** The route of each operation. The UI build inlines the finished list, so that its first page contains no schemas. */
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
) as Readonly<Record<OperationName, Route>>;
