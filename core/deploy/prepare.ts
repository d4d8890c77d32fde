import type { App } from '#core/app.ts';
import { AppError } from '#core/errors.ts';
import type { Description } from '#core/engines/shared/source.ts';
import { type Compiled, currentArtifact, describeCompiled } from '#snapshots/compile.ts';
import { resourceFreezer, toolFreezer } from '#snapshots/entities.ts';
import { freeze, type Frozen, isRemembered, type Problem } from '#snapshots/freeze.ts';
import { readConfiguration, type StoredConfiguration } from './configuration.ts';
import { checkExposure } from './exposure.ts';
import { type ConnectionRow, unreadableSecret } from '#core/definitions/source-pool.ts';
import { describeWhole, withoutUnchecked } from '#core/definitions/statements.ts';

export interface Prepared extends Frozen {
  /** Artifacts that are other than the stored ones, with what they replace. */
  readonly refreshed: ReadonlyMap<string, { readonly before: Compiled | undefined; readonly after: Compiled }>;
}

/** Freezes after every database prepared its statements again; what it now refuses is a problem, one that is down a warning. */
export async function prepare(app: App): Promise<Prepared> {
  const configuration = await readConfiguration(app);
  const compiled = new Map(configuration.compiled);
  const refreshed = new Map<string, { before: Compiled | undefined; after: Compiled }>();
  const problems: Problem[] = [];
  const unchecked: string[] = [];
  const checkConnection = async (connection: ConnectionRow): Promise<void> => {
    const asked: (Query & { artifact: Compiled })[] = [];
    const queries = queriesOf(configuration, connection);
    const unreadable = queries.length === 0 ? null : unreadableSecret(connection, app.keyring);
    if (unreadable !== null) {
      const message = `${unreadable.detail} Send its secrets again, or disable the connection.`;
      problems.push({ entity_type: 'connection', name: connection.name, message });
      return;
    }
    for (const query of queries) {
      const stored = compiled.get(query.entity.id);
      const known = stored !== undefined && isRemembered(configuration.memo, query.entity, stored, connection.db_type);
      const artifact = known
        ? stored
        : await currentArtifact(stored, query.definition, connection.db_type).catch(asProblem(query, problems));
      // What is one parameter has no statement that could be prepared.
      if (artifact !== null && !artifact.classification.passthrough) asked.push({ ...query, artifact });
    }
    if (asked.length === 0) return;
    const described = await describeWhole(
      app,
      connection,
      asked.map(({ artifact }) => artifact),
    );
    if (described instanceof AppError) {
      unchecked.push(`The statements of ${connection.name} were not checked: ${described.detail}`);
      return;
    }
    for (const [n, { entity_type, entity, definition, artifact }] of asked.entries()) {
      const now = described[n];
      if (now instanceof AppError) problems.push({ entity_type, name: entity.name, message: now.detail });
      if (now === undefined || now instanceof AppError) continue;
      const checked = withoutUnchecked(artifact);
      if (checked === configuration.compiled.get(entity.id) && sameDescription(checked, now)) continue;
      const fresh = describeCompiled(checked, definition, now);
      compiled.set(entity.id, fresh);
      refreshed.set(entity.id, { before: configuration.compiled.get(entity.id), after: fresh });
    }
  };
  await Promise.all(configuration.connections.filter(({ enabled }) => enabled).map(checkConnection));
  const frozen = await freeze({ ...configuration, compiled });
  return {
    ...frozen,
    problems: [...problems, ...frozen.problems],
    warnings: [...frozen.warnings, ...unchecked, ...(await checkExposure(app, frozen.content.server))],
    refreshed,
  };
}

type Query = ReturnType<typeof queriesOf>[number];

const asProblem =
  ({ entity_type, entity }: Query, problems: Problem[]) =>
  (error: unknown): null => {
    if (!(error instanceof AppError)) throw error;
    problems.push({ entity_type, name: entity.name, message: error.detail });
    return null;
  };

/** Everything enabled of a connection that has a statement. */
const queriesOf = ({ tools, resources }: StoredConfiguration, { id }: ConnectionRow) => [
  ...tools
    .filter((entity) => entity.enabled && entity.connection_id === id)
    .map((entity) => ({ entity_type: 'tool' as const, entity, definition: toolFreezer.query(entity) })),
  ...resources
    .filter((entity) => entity.enabled && entity.connection_id === id)
    .map((entity) => ({ entity_type: 'resource' as const, entity, definition: resourceFreezer.query(entity) })),
];

const sameDescription = ({ statement, columns }: Compiled, now: Description): boolean =>
  statement.typed === now.typed &&
  columns?.length === now.columns.length &&
  now.columns.every(
    ({ name, type, kind }, n) => columns[n]?.name === name && columns[n].type === type && columns[n].kind === kind,
  );

/** Every problem in one refusal. */
export function refusal(problems: readonly Problem[]): AppError {
  const sentences = problems.map(({ entity_type, name, message }) => `${entity_type} ${name}: ${message}`);
  return new AppError('cannot_deploy', `The configuration cannot be deployed. ${sentences.join(' ')}`, {
    errors: problems.map(({ entity_type, name, message }) => ({ field: `${entity_type}.${name}`, message })),
  });
}
