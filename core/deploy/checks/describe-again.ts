import type { WithSources, ConnectionRow } from '#core/sources/source-pool.ts';
import type { Drifted } from '#core/contract/deploy/drift.ts';
import { describeWhole, readCompiled, schemaMark } from '#core/sources/statements.ts';
import type { Description } from '#core/engines/shared/source.ts';
import { AppError } from '#core/errors.ts';
import { outputSchema } from '#core/query/shape.ts';
import { withReads } from '#core/lib/sql/reads.ts';
import { canonical } from '#snapshots/format/canonical.ts';
import type { Compiled } from '#snapshots/freeze/compile.ts';
import { freezeConnection } from '#snapshots/freeze/entities.ts';
import type { FrozenConnection, FrozenResource, FrozenTool } from '#snapshots/format/format.ts';
import { leavesOf } from '#snapshots/format/order.ts';
import type { Leaf } from '#snapshots/format/tree.ts';
import { columnDifferences, schemaDifferences } from './columns.ts';
import { createSlices, pagesOf } from '#core/lib/slices.ts';

type YieldTurn = () => Promise<void>;
type Texts = (leaves: readonly Leaf[]) => Promise<ReadonlyMap<string, string>>;
type DriftFinding = Omit<Drifted, 'since'>;
type Unchecked = { connection_id: string; connection_name: string; reason: string };
interface Statement {
  readonly kind: 'tool' | 'resource';
  readonly hash: string;
  readonly frozen: FrozenTool | FrozenResource;
}

/** The schema of a database in which a frozen statement was verified. */
interface VerifiedSchema {
  readonly connection_id: string;
  readonly mark: string;
}
/** Verified schemas by the hash of the frozen definition, which is not described again while the schema stays the same. */
export type VerifiedStatements = Map<string, VerifiedSchema>;

/** Statements that are described at a time. A snapshot can have 10,000. */
const STATEMENTS_PER_PAGE = 100;

/**
 * Describes statements of a snapshot again. @returns how they differ from when they were frozen.
 * @param some the definitions to check. @param all leaves of the snapshot, with their connections.
 * @param known what was verified before; receives what is verified now. @param turn is awaited between two steps.
 */
export async function driftOf(
  app: WithSources,
  some: readonly Leaf[],
  all: readonly Leaf[],
  texts: Texts,
  known: VerifiedStatements = new Map(),
  turn = createSlices(),
): Promise<{ found: DriftFinding[]; unchecked: Unchecked[] }> {
  const connections = await connectionsIn(app, all, texts);
  const found: DriftFinding[] = [];
  const unchecked = new Map<string, Unchecked>();
  const due: Leaf[] = [];
  for (const leaf of some) {
    if (leaf.kind !== 'tool' && leaf.kind !== 'resource') continue;
    const verified = known.get(leaf.hash);
    if (verified === undefined || connections.get(verified.connection_id)?.mark !== verified.mark) due.push(leaf);
  }
  for (const page of pagesOf(due, STATEMENTS_PER_PAGE)) {
    const owned = Map.groupBy(await statementsIn(page, texts, turn), ({ frozen }) => frozen.connection_id);
    await Promise.all(
      [...owned].map(async ([connection_id, list]) => {
        const { name = '', row = null, mark = null, reason = null } = connections.get(connection_id) ?? {};
        const answer = row === null ? reason : await compared(app, row, list, unchecked.has(connection_id), turn);
        if (!Array.isArray(answer)) {
          if (answer !== null) unchecked.set(connection_id, { connection_id, connection_name: name, reason: answer });
          return;
        }
        for (const [n, one] of answer.entries()) {
          if (one !== null) found.push({ ...one, connection_name: name });
          else if (mark !== null) known.set(list[n]!.hash, { connection_id, mark });
        }
      }),
    );
    await turn();
  }
  return { found, unchecked: [...unchecked.values()] };
}

interface Connection {
  readonly name: string;
  /** Null when its settings changed since it was frozen. */
  readonly row: ConnectionRow | null;
  /** Identifies the present schema of its database; null when it is unknown. */
  readonly mark: string | null;
  readonly reason: string | null;
}

/** The connections of a snapshot with their stored rows. */
async function connectionsIn(app: WithSources, leaves: readonly Leaf[], texts: Texts): Promise<Map<string, Connection>> {
  const rows = await app.store.db.select().from(app.store.tables.connections);
  const stored = new Map(rows.map((row) => [row.id, row]));
  const read = await texts(leavesOf(leaves, 'connection'));
  const found = await Promise.all(
    [...read.values()].map(async (text): Promise<[string, Connection]> => {
      const { id, name, pool_key } = JSON.parse(text) as FrozenConnection;
      const row = stored.get(id);
      if (row === undefined || freezeConnection(row).pool_key !== pool_key)
        return [id, { name, row: null, mark: null, reason: 'The settings of the connection changed since the deploy.' }];
      return [id, { name, row, mark: await schemaMark(app, row), reason: null }];
    }),
  );
  return new Map(found);
}

async function statementsIn(leaves: readonly Leaf[], texts: Texts, turn: YieldTurn): Promise<Statement[]> {
  const read = await texts(leaves);
  const statements: Statement[] = [];
  for (const { kind, hash } of leaves) {
    await turn();
    const frozen = JSON.parse(read.get(hash) ?? 'null') as FrozenTool | FrozenResource | null;
    // Passthrough SQL has no statement to describe.
    if (frozen === null || (kind !== 'tool' && kind !== 'resource') || 'passthrough' in frozen) continue;
    statements.push({ kind, hash, frozen });
  }
  return statements;
}

/** @returns the differences of each statement, or why the database is unreachable. @param failed it was unreachable a moment ago. */
async function compared(
  app: WithSources,
  row: ConnectionRow,
  list: readonly Statement[],
  failed: boolean,
  turn: YieldTurn,
): Promise<(Omit<DriftFinding, 'connection_name'> | null)[] | string | null> {
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
  const answer: (Omit<DriftFinding, 'connection_name'> | null)[] = [];
  for (const [n, { kind, frozen }] of list.entries()) {
    await turn();
    const { id, name, connection_id } = frozen;
    const differences = differencesOf(frozen, artifacts.get(id), described[n]);
    answer.push(differences.length === 0 ? null : { kind, id, name, connection_id, differences });
  }
  return answer;
}

/** Compares with the columns of the stored artifact when it is the one that was frozen, otherwise with the frozen output schema. */
function differencesOf(
  frozen: FrozenTool | FrozenResource,
  stored: Compiled | undefined,
  now: Pick<Description, 'columns'> | AppError | undefined,
): string[] {
  if (now === undefined) return [];
  if (now instanceof AppError) return [`The database refuses the statement: ${now.detail}`];
  const schema = frozen.listing['outputSchema'] ?? null;
  const is_frozen =
    stored !== undefined &&
    canonical(withReads(stored.statement)) === canonical(withReads(frozen.statement)) &&
    (schema === null || canonical(stored.output_schema) === canonical(schema));
  if (is_frozen && stored.columns !== null) return columnDifferences(stored.columns, now.columns);
  if (schema === null || !('return_type' in frozen)) return [];
  const masked = frozen.masks !== undefined;
  return schemaDifferences(schema, outputSchema(frozen.return_type, now.columns, false), masked);
}

export interface WithVerifiedStatements {
  /** @property since when the last full check began, as milliseconds since the epoch. */
  verified_statements: { readonly since: number; readonly schemas: VerifiedStatements };
}
