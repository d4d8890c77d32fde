import type { App } from '#core/app.ts';
import type { Drifted } from '#core/contract/deploy/drift.ts';
import type { ConnectionRow } from '#core/definitions/source-pool.ts';
import { describeWhole, readCompiled } from '#core/definitions/statements.ts';
import type { Description } from '#core/engines/shared/source.ts';
import { AppError } from '#core/errors.ts';
import { outputSchema } from '#core/lib/call/shape.ts';
import { canonical } from '#snapshots/canonical.ts';
import type { Compiled } from '#snapshots/compile.ts';
import { freezeConnection } from '#snapshots/entities.ts';
import type { FrozenConnection, FrozenResource, FrozenTool } from '#snapshots/format.ts';
import type { Leaf } from '#snapshots/tree.ts';
import { columnDifferences, schemaDifferences } from './columns.ts';
import { pagesOf } from '#core/lib/slices.ts';

type Texts = (leaves: readonly Leaf[]) => Promise<ReadonlyMap<string, string>>;
type Found = Omit<Drifted, 'since'>;
type Unchecked = { connection_id: string; connection_name: string; reason: string };
interface Statement {
  readonly kind: 'tool' | 'resource';
  readonly frozen: FrozenTool | FrozenResource;
}

/** Statements that are described together: a snapshot may hold 10,000. */
const AT_ONCE = 500;

/**
 * Describes statements of a snapshot again, and says how they differ from what they were when they were frozen.
 * @param some the definitions that are wanted. @param all leaves of the snapshot, which hold their connections.
 */
export async function driftOf(
  app: App,
  some: readonly Leaf[],
  all: readonly Leaf[],
  texts: Texts,
): Promise<{ found: Found[]; unchecked: Unchecked[] }> {
  const connections = await connectionsIn(app, all, texts);
  const found: Found[] = [];
  const unchecked = new Map<string, Unchecked>();
  const wanted = some.filter(({ kind }) => kind === 'tool' || kind === 'resource');
  for (const page of pagesOf(wanted, AT_ONCE)) {
    const statements = await statementsIn(page, texts);
    const owned = Map.groupBy(statements, ({ frozen }) => frozen.connection_id);
    await Promise.all(
      [...owned].map(async ([connection_id, list]) => {
        const { name = '', row = null, reason = null } = connections.get(connection_id) ?? {};
        const answer = row === null ? reason : await compared(app, row, list, unchecked.has(connection_id));
        if (Array.isArray(answer)) found.push(...answer.map((one) => ({ ...one, connection_name: name })));
        else if (answer !== null) unchecked.set(connection_id, { connection_id, connection_name: name, reason: answer });
      }),
    );
  }
  return { found, unchecked: [...unchecked.values()] };
}

interface Connection {
  readonly name: string;
  /** Null when it is not the one that was frozen. */
  readonly row: ConnectionRow | null;
  readonly reason: string | null;
}

/** The connections of a snapshot with their stored rows, whose sources are there already. */
async function connectionsIn(app: App, leaves: readonly Leaf[], texts: Texts): Promise<Map<string, Connection>> {
  const rows = await app.store.db.select().from(app.store.tables.connections);
  const stored = new Map(rows.map((row) => [row.id, row]));
  const read = await texts(leaves.filter(({ kind }) => kind === 'connection'));
  return new Map(
    [...read.values()].map((text) => {
      const { id, name, pool_key } = JSON.parse(text) as FrozenConnection;
      const row = stored.get(id);
      const same = row !== undefined && freezeConnection(row).pool_key === pool_key;
      const reason = same ? null : 'The settings of the connection changed since the deploy.';
      return [id, { name, row: same ? row : null, reason }];
    }),
  );
}

async function statementsIn(leaves: readonly Leaf[], texts: Texts): Promise<Statement[]> {
  const read = await texts(leaves);
  return leaves.flatMap(({ kind, hash }) => {
    const frozen = JSON.parse(read.get(hash) ?? 'null') as FrozenTool | FrozenResource | null;
    // A statement that callers send has nothing to describe.
    if (frozen === null || (kind !== 'tool' && kind !== 'resource') || 'passthrough' in frozen) return [];
    return [{ kind, frozen }];
  });
}

/** @returns what differs, or why the database could not be asked. @param failed it could not be asked a moment ago. */
async function compared(
  app: App,
  row: ConnectionRow,
  list: readonly Statement[],
  failed: boolean,
): Promise<Omit<Found, 'connection_name'>[] | string | null> {
  if (failed) return null;
  const described = await describeWhole(
    app,
    row,
    list.map(({ frozen }) => frozen),
  ).catch((error: unknown) => {
    if (error instanceof AppError) return error;
    throw error;
  });
  if (described instanceof AppError) return described.detail;
  const artifacts = await readCompiled(
    app,
    list.map(({ frozen }) => frozen.id),
  );
  return list.flatMap(({ kind, frozen }, n) => {
    const now = described[n];
    if (now === undefined) return [];
    const { id, name, connection_id } = frozen;
    const differences =
      now instanceof AppError
        ? [`The database refuses the statement: ${now.detail}`]
        : differencesOf(frozen, artifacts.get(id), now);
    return differences.length === 0 ? [] : [{ kind, id, name, connection_id, differences }];
  });
}

/** The stored artifact knows every column, while it is still the one that was frozen; clients were told of the columns in any case. */
function differencesOf(frozen: FrozenTool | FrozenResource, stored: Compiled | undefined, now: Description): string[] {
  const told = frozen.listing['outputSchema'] ?? null;
  const is_frozen =
    stored !== undefined &&
    canonical({ ...stored.statement, typed: false }) === canonical({ ...frozen.statement, typed: false }) &&
    (told === null || canonical(stored.output_schema) === canonical(told));
  if (is_frozen && stored.columns !== null) return columnDifferences(stored.columns, now.columns);
  if (told === null || !('return_type' in frozen)) return [];
  const masked = frozen.masks !== undefined;
  return schemaDifferences(told, outputSchema(frozen.return_type, now.columns, false), masked);
}
