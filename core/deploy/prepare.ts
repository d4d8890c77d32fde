import { type WithSources, type ConnectionRow, unreadableSecret } from '#core/sources/source-pool.ts';
import type { WithAskedStatements } from '#core/deploy/checks/describe-again.ts';
import { type WithWorkingCopy, readDefinitions, readWorkingCopy, type WorkingCopy } from '#core/versions/working-copy.ts';
import type { Platform } from '#core/platform/platform.ts';
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
  /** Checksum of the working copy as it is stored; worked out when it is asked for. */
  readonly stored: () => string;
  /** Artifacts that are other than the stored ones, with what they replace. */
  readonly refreshed: ReadonlyMap<string, Refreshed>;
  /** Definitions that their database describes otherwise than when they were saved. */
  readonly drifted: readonly FoundDrift[];
  /** The canonical text of what was frozen since the last deploy. */
  readonly textOf: (hash: string) => string | undefined;
}

/** @property hash of the definition as it is stored: what is served with it has drifted too. */
export type FoundDrift = Omit<Drifted, 'since'> & { readonly hash: string };

interface Refreshed {
  readonly kind: DefinitionKind;
  readonly before: Compiled | undefined;
  readonly after: Compiled;
}

/** From so many statements on it pays to ask first whether the schema changed. */
const MANY = 50;
/** Statements that are read and described together: all of them would fill the memory. */
const AT_ONCE = 500;

/** What the databases said while a deploy was prepared. */
interface PreparedNote {
  readonly instead: Map<string, FreezeResult>;
  readonly texts: Map<string, string>;
  readonly refreshed: Map<string, Refreshed>;
  readonly problems: Problem[];
  readonly unchecked: string[];
  readonly drifted: PreparedCopy['drifted'][number][];
}

/**
 * Freezes after every database prepared the statements again that changed, or all of them when its schema did; what it now
 * refuses is a problem, one that is down a warning.
 */
export async function prepare(app: WithSources & WithAskedStatements & WithWorkingCopy): Promise<PreparedCopy> {
  const { copy, view } = await readWorkingCopy(app);
  const said: PreparedNote = {
    instead: new Map(),
    texts: new Map(),
    refreshed: new Map(),
    problems: [],
    unchecked: [],
    drifted: [],
  };
  const owned = new Map<string | null, FreezeResult[]>([...view.connections.keys()].map((id) => [id, []]));
  for (const outcome of view.outcomes) {
    const { id, entity_type: kind, renewed, leaf, connection_id } = outcome;
    if (renewed !== null) said.refreshed.set(id, { kind, ...renewed });
    if (leaf !== null && (kind === 'tool' || kind === 'resource')) owned.get(connection_id)?.push(outcome);
  }
  const connections = [...view.connections.values()].filter(({ enabled, id }) => enabled && (owned.get(id) ?? []).length > 0);
  await Promise.all(
    connections.map((one) => prepareConnection(app, copy, view, one as ConnectionRow, owned.get(one.id) ?? [], said)),
  );
  const frozen = view.frozen(said.instead);
  return {
    server: view.server,
    stored: () => view.frozen().tree.checksum,
    tree: frozen.tree,
    problems: [...said.problems, ...frozen.problems],
    warnings: [...frozen.warnings, ...said.unchecked],
    refreshed: said.refreshed,
    drifted: said.drifted,
    textOf: (hash) => said.texts.get(hash) ?? view.textOf(hash),
  };
}

async function prepareConnection(
  app: WithSources & WithAskedStatements,
  copy: WorkingCopy,
  view: FrozenView,
  connection: ConnectionRow,
  owned: readonly FreezeResult[],
  said: PreparedNote,
): Promise<void> {
  const unreadable = unreadableSecret(connection, app.keyring);
  if (unreadable !== null) {
    const message = `${unreadable.detail} Send its secrets again, or disable the connection.`;
    said.problems.push({ entity_type: 'connection', name: connection.name, message });
    return;
  }
  const mark = owned.length < MANY ? null : await schemaMark(app, connection);
  const same = mark !== null && copy.schemas.get(connection.id) === mark;
  // Under another schema nothing counts that was prepared before, until it is prepared again.
  if (!same) for (const { id } of owned) copy.unprepared.add(id);
  const asked = owned.filter(({ id }) => copy.unprepared.has(id));
  const collect = createCollection();
  for (const page of pagesOf(asked, AT_ONCE)) {
    const fault = await prepareSome(app, copy, view, connection, page, mark, said);
    collect(page.length);
    if (fault === null) continue;
    said.unchecked.push(`The statements of ${connection.name} were not checked: ${fault.detail}`);
    return;
  }
  if (mark !== null) copy.schemas.set(connection.id, mark);
}

/** @returns why the database could not be asked, if it could not. */
async function prepareSome(
  app: WithSources & WithAskedStatements,
  copy: WorkingCopy,
  view: FrozenView,
  connection: ConnectionRow,
  asked: readonly FreezeResult[],
  mark: string | null,
  said: PreparedNote,
): Promise<AppError | null> {
  const queries = await readQueries(app, copy, asked);
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
      said.problems.push(problemOf(query, answer));
    } else if (withoutUnchecked(query.artifact) === query.stored && sameDescription(query.artifact, answer)) {
      // Put again meanwhile, it is another definition.
      if (copy.state.outcome(query.outcome.id) === query.outcome) copy.unprepared.delete(query.outcome.id);
      const { leaf } = query.outcome;
      if (leaf !== null && mark !== null) app.verified_statements.asked.set(leaf.hash, { connection_id: connection.id, mark });
    } else {
      const now = await inAllForms(app, connection, query, answer);
      if (now instanceof AppError) said.problems.push(problemOf(query, now));
      else await takeDescription(app, view, connection, query, now, said);
    }
  }
  return null;
}

const problemOf = ({ outcome: { entity_type, name } }: Query, { detail: message }: AppError): Problem => ({
  entity_type,
  name,
  message,
});

/** A statement whose parameters are read otherwise now is described in every form, as it was when it was saved. */
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
  { instead, texts, refreshed, drifted }: PreparedNote,
): Promise<void> {
  const { id, entity_type: kind, name, leaf } = outcome;
  const differences = stored?.columns ? columnDifferences(stored.columns, now.columns) : [];
  if (differences.length > 0 && leaf !== null && (kind === 'tool' || kind === 'resource'))
    drifted.push({ kind, id, name, connection_id, connection_name, differences, hash: leaf.hash });
  const fresh = describeCompiled(withoutUnchecked(artifact), definition, now);
  refreshed.set(outcome.id, { kind: outcome.entity_type, before: stored, after: fresh });
  const again = await freezeOne(outcome.entity_type, row as never, view.connections, fresh, app.env.SVC_ALLOW_PASSTHROUGH_SQL);
  instead.set(outcome.id, { ...again.outcome, leaf: again.blob });
  if (again.blob !== null) texts.set(again.blob.hash, again.blob.text);
}

type Query = Awaited<ReturnType<typeof readQueries>>[number];

const FREEZERS = { tool: toolFreezer, resource: resourceFreezer } as const;

/**
 * The statements of some outcomes. What is one parameter has none that could be prepared; what was written since the working copy
 * was read comes next time.
 */
async function readQueries(app: Platform, { fresh }: WorkingCopy, asked: readonly FreezeResult[]) {
  const queries = [];
  for (const kind of ['tool', 'resource'] as const) {
    const list = new Map(asked.flatMap((outcome) => (outcome.entity_type === kind ? [[outcome.id, outcome]] : [])));
    const rest = new Set(list.keys());
    const known = [...list.keys()].flatMap((id) => fresh.get(id) ?? []);
    for (const { row } of known) rest.delete(row.id);
    // A definition and its artifact belong together.
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
