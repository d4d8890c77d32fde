import { type Extra, extrasOf, textField } from '../shared/extras.ts';

const APPLICATION_NAME = 'sluice';

/**
 * The name of a schema that is not a system schema. As long as `pg_catalog` is not in the list, it is searched first, so that
 * unqualified names of functions and types are the built-in ones. The safety of shared sessions depends on that.
 */
const SCHEMA = /^(?:[a-z_][a-z0-9_$]*|"[^"'\\\p{Cc}]+")$/iu;
const SYSTEM_SCHEMA = /^"?pg_/i;

/** Settings of the planner and of resources. None of them changes the meaning or the rights of a statement. */
const OPTIONS: ReadonlySet<string> = new Set(
  `cpu_index_tuple_cost cpu_operator_cost cpu_tuple_cost cursor_tuple_fraction default_statistics_target effective_cache_size
   effective_io_concurrency enable_bitmapscan enable_gathermerge enable_hashagg enable_hashjoin enable_incremental_sort
   enable_indexonlyscan enable_indexscan enable_material enable_memoize enable_mergejoin enable_nestloop enable_parallel_append
   enable_parallel_hash enable_partition_pruning enable_partitionwise_aggregate enable_partitionwise_join enable_seqscan enable_sort
   enable_tidscan from_collapse_limit geqo geqo_threshold hash_mem_multiplier jit jit_above_cost join_collapse_limit lock_timeout
   max_parallel_workers_per_gather parallel_setup_cost parallel_tuple_cost plan_cache_mode random_page_cost seq_page_cost work_mem`.split(
    /\s+/,
  ),
);
const OPTION = /^-c\s*([a-z_]+)=([\w.+-]+)$/;

const optionsIn = (text: string): string[] => text.trim().split(/\s+(?=-)/);

export const POSTGRESQL_EXTRAS: readonly Extra[] = [
  {
    field: textField('application_name', 'Application name', APPLICATION_NAME, 'Shown in pg_stat_activity.'),
    fault: (value) => (/^[\x20-\x7e]{1,63}$/.test(value) ? null : 'must be at most 63 letters, digits and signs of ASCII.'),
  },
  {
    field: textField(
      'search_path',
      'Search path',
      null,
      'Schemas in which unqualified names are looked up, such as sales, public.',
    ),
    fault(value) {
      const names = value.split(',').map((name) => name.trim());
      if (!names.every((name) => SCHEMA.test(name))) return 'must be names of schemas, separated by commas.';
      return names.some((name) => SYSTEM_SCHEMA.test(name))
        ? "names a schema of PostgreSQL's own, which is searched anyway."
        : null;
    },
  },
  {
    field: textField('options', 'Options', null, 'Settings of the planner and of memory, such as -c work_mem=64MB -c jit=off.'),
    fault(value) {
      const wrong = optionsIn(value).find((option) => !OPTIONS.has(OPTION.exec(option)?.[1] ?? ''));
      return wrong === undefined
        ? null
        : 'must be settings of the planner or of memory, each as -c name=value; others are kept by this server.';
    },
  },
];

/** The settings that a connection requests for its sessions. Settings that statements depend on are not allowed. */
export function sessionSettings(extra_params: Readonly<Record<string, unknown>>): Readonly<Record<string, string>> {
  const { options, ...named } = extrasOf(POSTGRESQL_EXTRAS, extra_params);
  const settings = optionsIn(options ?? '').flatMap((option) => {
    const [, name, value] = OPTION.exec(option) ?? [];
    return name === undefined || value === undefined ? [] : [[name, value] as const];
  });
  return { application_name: APPLICATION_NAME, ...Object.fromEntries(settings), ...named };
}
