import { ENTITIES, ENTITY_KINDS } from './entities.ts';
import type { OperationName } from './index.ts';
import type { Operation } from './operation.ts';

/**
 * What an operation of a token that proposes does: `change` becomes part of its proposal, `look` reads or tries what is proposed,
 * `live` reads what is stored, `refused` would have an effect outside of the configuration.
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
  'lint.list',
  'toolsets.members',
  'agent.list_toolset_members',
  'tests.run',
]);
/** They ask for `write` and change nothing. */
const TRIES = /^preview\.|^connections\.test(_draft)?$/;
const LIVE: readonly string[] = ['transfer.export', 'server.generated'];
/** They write files, or mark what is deployed. */
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

/** Without naming a proposal they see the one that is open, as a write would go there; other reads see what is stored. */
export const looksByItself = (name: OperationName, { access }: Pick<Operation, 'access'>): boolean =>
  access === 'write' || name === 'tests.run';
