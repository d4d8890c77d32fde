import { ENTITIES, ENTITY_KINDS } from './entities.ts';
import type { OperationName } from './index.ts';
import type { Operation } from './operation.ts';

/**
 * How an operation works for a token that proposes: `change` is added to its proposal, `look` reads or tests the proposed state,
 * `live` reads the stored state, `refused` would have an effect outside the configuration.
 */
export type Way = 'change' | 'look' | 'live' | 'refused';

const plurals = ENTITY_KINDS.map((kind) => ENTITIES[kind].plural);
const READS: ReadonlySet<string> = new Set([
  ...plurals.flatMap((plural) => [`${plural}.list`, `${plural}.get`]),
  'agent.list_tools',
  'agent.list_tables',
  'agent.list_columns',
  'agent.get_global_variables',
  'config.get',
  'schema.tables',
  'schema.columns',
  'schema.indexes',
  'lint.list',
  'toolsets.members',
  'agent.list_toolset_members',
  'tests.run',
]);
/** Operations that need the scope `write` but change nothing. */
const TRIES = /^preview\.|^connections\.test(_draft)?$/;
const LIVE: readonly string[] = ['transfer.export', 'transfer.pushed', 'server.generated'];
/** Operations that write files or mark deployed definitions. */
const REFUSED: readonly string[] = [
  'connections.create_sample',
  'drift.check',
  'files.create_folder',
  'files.upload',
  'files.delete',
];

export function wayOf(name: OperationName, { access }: Pick<Operation, 'access'>, input: Readonly<Record<string, unknown>>): Way {
  if (access === 'read') return READS.has(name) ? 'look' : 'live';
  if (access !== 'write' || name.startsWith('proposals.') || LIVE.includes(name)) return 'live';
  if (REFUSED.includes(name)) return 'refused';
  return TRIES.test(name) || input['dry_run'] === true ? 'look' : 'change';
}

/** Changes outside of the configuration that people can propose when they need an approval: one change for each proposal. */
const ALONE: readonly OperationName[] = [
  'people.create',
  'people.update',
  'people.reset_2fa',
  'identity_providers.create',
  'identity_providers.update',
  'snapshots.activate',
  'deploy.run',
  'deploy.promote',
];

export const isAlone = (name: string): boolean => ALONE.some((alone) => alone === name);

/** Without a named proposal, these operations use the open one, like writes; other reads use the stored state. */
export const looksByItself = (name: OperationName, { access }: Pick<Operation, 'access'>): boolean =>
  access === 'write' || name === 'tests.run';
