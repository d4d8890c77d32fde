import { type WithSources, type ConnectionRow, unreadableSecret } from '#core/sources/source-pool.ts';
import type { WithVerifiedStatements } from '#core/deploy/checks/describe-again.ts';
import { type WithWorkingCopy, readDefinitions, readWorkingCopy, type WorkingCopy } from '#core/versions/working-copy.ts';
import type { Platform } from '#core/platform/platform.ts';
import type { Settings } from '#core/settings/settings.ts';
import { describeForms, describeWhole, schemaMark, withoutUnchecked } from '#core/sources/statements.ts';
import type { DefinitionKind } from '#core/contract/entities.ts';
import type { Drifted } from '#core/contract/deploy/drift.ts';
import { createCollection } from '#core/platform/collect-garbage.ts';
import { AppError } from '#core/errors.ts';
import { type Compiled, describeCompiled, type DescribedStatement } from '#snapshots/freeze/compile.ts';
import { resourceFreezer, toolFreezer } from '#snapshots/freeze/entities.ts';
import type { FrozenServer } from '#snapshots/format/format.ts';
import type { Frozen, FrozenView, Problem } from '#snapshots/freeze/freeze.ts';
import { freezeOne, type FreezeResult } from '#snapshots/freeze/freeze-one.ts';
import { columnDifferences } from './checks/columns.ts';
import { pagesOf } from '#core/lib/slices.ts';
import { withReads } from '#core/lib/sql/reads.ts';
import { canonical } from '#snapshots/format/canonical.ts';

export interface PreparedCopy extends Frozen {
  readonly server: FrozenServer;
  /** As they were when it was read. */
  readonly settings: Settings;
  /** Checksum of the stored working copy, computed on demand. */
  readonly stored: () => string;
  /** Artifacts that differ from the stored ones, which they replace. */
  readonly refreshed: ReadonlyMap<string, Refreshed>;
  /** Definitions that their database now describes differently than when they were saved. */
  readonly drifted: readonly FoundDrift[];
  /** Canonical texts of what was frozen since the last deploy. */
  readonly textOf: (hash: string) => string | undefined;
}

/** @property hash of the stored definition. A served definition with this hash has drifted too. */
export type FoundDrift = Omit<Drifted, 'since'> & { readonly hash: string };

interface Refreshed {
  readonly kind: DefinitionKind;
  readonly before: Compiled | undefined;
  readonly after: Compiled;
}

/** With fewer statements, preparing them costs less than checking whether the schema changed. */
const MIN_FOR_MARK = 50;
/** Statements that are read and described at a time. All of them would fill the memory. */
const STATEMENTS_PER_PAGE = 500;

/** Results of the databases while a deploy was prepared. */
interface PrepareReport {
  /** Results that replace those of the working copy, by the id of the definition. */
  readonly replaced: Map<string, FreezeResult>;
  readonly texts: Map<string, string>;
  readonly refreshed: Map<string, Refreshed>;
  readonly problems: Problem[];
  readonly unchecked: string[];
  readonly drifted: PreparedCopy['drifted'][number][];
}

/**
 * Freezes the working copy. Before that, each database prepares the statements that changed, or all of them when its schema changed.
 * A refused statement is a problem, an unreachable database a warning.
 */
export async function prepareWorkingCopy(app: WithSources & WithVerifiedStatements & WithWorkingCopy): Promise<PreparedCopy> {
  const { copy, view, settings } = await readWorkingCopy(app);
  const report: PrepareReport = {
    replaced: new Map(),
    texts: new Map(),
    refreshed: new Map(),
    problems: [],
    unchecked: [],
    drifted: [],
  };
  const owned = new Map<string | null, FreezeResult[]>([...view.connections.keys()].map((id) => [id, []]));
  for (const outcome of view.outcomes) {
    const { id, entity_type: kind, renewed, leaf, connection_id } = outcome;
    if (renewed !== null) report.refreshed.set(id, { kind, ...renewed });
    if (leaf !== null && (kind === 'tool' || kind === 'resource')) owned.get(connection_id)?.push(outcome);
  }
  const connections = [...view.connections.values()].filter(({ enabled, id }) => enabled && (owned.get(id) ?? []).length > 0);
  await Promise.all(
    connections.map((one) => prepareConnection(app, copy, view, one as ConnectionRow, owned.get(one.id) ?? [], report)),
  );
  const frozen = view.frozen(report.replaced);
  return {
    server: view.server,
    settings,
    stored: () => view.frozen().tree.checksum,
    tree: frozen.tree,
    problems: [...report.problems, ...frozen.problems],
    warnings: [...frozen.warnings, ...report.unchecked],
    refreshed: report.refreshed,
    drifted: report.drifted,
    textOf: (hash) => report.texts.get(hash) ?? view.textOf(hash),
  };
}

async function prepareConnection(
  app: WithSources & WithVerifiedStatements,
  copy: WorkingCopy,
  view: FrozenView,
  connection: ConnectionRow,
  owned: readonly FreezeResult[],
  report: PrepareReport,
): Promise<void> {
  const unreadable = unreadableSecret(connection, app.keyring);
  if (unreadable !== null) {
    const message = `${unreadable.detail} Send its secrets again, or disable the connection.`;
    report.problems.push({ entity_type: 'connection', name: connection.name, message });
    return;
  }
  const mark = owned.length < MIN_FOR_MARK ? null : await schemaMark(app, connection);
  const same = mark !== null && copy.schemas.get(connection.id) === mark;
  // After a change of the schema, all statements have to be prepared again.
  if (!same) for (const { id } of owned) copy.unprepared.add(id);
  const unprepared = owned.filter(({ id }) => copy.unprepared.has(id));
  const collect = createCollection();
  for (const page of pagesOf(unprepared, STATEMENTS_PER_PAGE)) {
    const fault = await prepareSome(app, copy, view, connection, page, mark, report);
    collect(page.length);
    if (fault === null) continue;
    report.unchecked.push(`The statements of ${connection.name} were not checked: ${fault.detail}`);
    return;
  }
  if (mark !== null) copy.schemas.set(connection.id, mark);
}

/** @returns the error when the database is unreachable. */
async function prepareSome(
  app: WithSources & WithVerifiedStatements,
  copy: WorkingCopy,
  view: FrozenView,
  connection: ConnectionRow,
  unprepared: readonly FreezeResult[],
  mark: string | null,
  report: PrepareReport,
): Promise<AppError | null> {
  const queries = await readQueries(app, copy, unprepared);
  const described = await describeWhole(
    app,
    connection,
    queries.map(({ artifact }) => ({ statement: withReads(artifact.statement) })),
  );
  if (described instanceof AppError) return described;
  for (const [n, query] of queries.entries()) {
    const answer = described[n];
    if (answer === undefined) continue;
    copy.unprepared.add(query.outcome.id);
    if (answer instanceof AppError) {
      report.problems.push(problemOf(query, answer));
    } else if (withoutUnchecked(query.artifact) === query.stored && sameDescription(query.artifact, answer)) {
      // Unless the definition was changed since, its statement is prepared now.
      if (copy.state.outcome(query.outcome.id) === query.outcome) copy.unprepared.delete(query.outcome.id);
      const { leaf } = query.outcome;
      if (leaf !== null && mark !== null) app.verified_statements.schemas.set(leaf.hash, { connection_id: connection.id, mark });
    } else {
      const now = await inAllForms(app, connection, query, answer);
      if (now instanceof AppError) report.problems.push(problemOf(query, now));
      else await takeDescription(app, view, connection, query, now, report);
    }
  }
  return null;
}

const problemOf = ({ outcome: { entity_type, name } }: Query, { detail: message }: AppError): Problem => ({
  entity_type,
  name,
  message,
});

/** When the database reads parameters as other types now, describes every form of the statement, as on saving. */
async function inAllForms(
  app: WithSources,
  connection: ConnectionRow,
  { artifact, definition }: Query,
  whole: DescribedStatement,
): Promise<DescribedStatement | AppError> {
  const has_blocks = artifact.statement.nodes.some((node) => typeof node === 'object' && 'block' in node);
  if (!has_blocks || sameReads(artifact, whole)) return whole;
  return describeForms(app, connection, artifact, definition.sql_query).catch((error: unknown) => {
    if (error instanceof AppError) return error;
    throw error;
  });
}

async function takeDescription(
  app: Platform,
  view: FrozenView,
  { id: connection_id, name: connection_name }: ConnectionRow,
  { outcome, row, stored, artifact, definition }: Query,
  now: DescribedStatement,
  { replaced, texts, refreshed, drifted }: PrepareReport,
): Promise<void> {
  const { id, entity_type: kind, name, leaf } = outcome;
  const differences = stored?.columns ? columnDifferences(stored.columns, now.columns) : [];
  if (differences.length > 0 && leaf !== null && (kind === 'tool' || kind === 'resource'))
    drifted.push({ kind, id, name, connection_id, connection_name, differences, hash: leaf.hash });
  const fresh = describeCompiled(withoutUnchecked(artifact), definition, now);
  refreshed.set(outcome.id, { kind: outcome.entity_type, before: stored, after: fresh });
  const again = await freezeOne(outcome.entity_type, row as never, view.connections, fresh, app.env.SVC_ALLOW_PASSTHROUGH_SQL);
  replaced.set(outcome.id, { ...again.outcome, leaf: again.blob });
  if (again.blob !== null) texts.set(again.blob.hash, again.blob.text);
}

type Query = Awaited<ReturnType<typeof readQueries>>[number];

const FREEZERS = { tool: toolFreezer, resource: resourceFreezer } as const;

/**
 * The statements of some definitions, without those that consist of one parameter, which cannot be prepared, and without those that
 * changed since the working copy was read, which the next deploy prepares.
 */
async function readQueries(app: Platform, { fresh }: WorkingCopy, unprepared: readonly FreezeResult[]) {
  const queries = [];
  for (const kind of ['tool', 'resource'] as const) {
    const list = new Map(unprepared.flatMap((outcome) => (outcome.entity_type === kind ? [[outcome.id, outcome]] : [])));
    const rest = new Set(list.keys());
    const known = [...list.keys()].flatMap((id) => fresh.get(id) ?? []);
    for (const { row } of known) rest.delete(row.id);
    // One transaction, so that each definition comes with its artifact.
    const read = rest.size === 0 ? [] : await app.store.read((tx) => readDefinitions(app, tx, kind, [...rest]));
    for (const { row, compiled } of [...known, ...read]) {
      const outcome = list.get(row.id);
      const artifact = outcome?.renewed?.after ?? compiled;
      if (outcome?.version !== row.version || artifact === undefined || artifact.classification.passthrough) continue;
      queries.push({ outcome, row, stored: compiled, artifact, definition: FREEZERS[kind].query(row as never) });
    }
  }
  return queries;
}

const sameReads = ({ statement }: Compiled, { reads }: DescribedStatement): boolean =>
  canonical(statement) === canonical(withReads(statement, reads));

const sameDescription = (artifact: Compiled, now: DescribedStatement): boolean =>
  sameReads(artifact, now) && sameColumns(artifact, now);

const sameColumns = ({ columns }: Compiled, now: DescribedStatement): boolean =>
  columns?.length === now.columns.length &&
  now.columns.every(
    ({ name, type, kind }, n) => columns[n]?.name === name && columns[n].type === type && columns[n].kind === kind,
  );
