import * as v from 'valibot';
import { TestOwner, TestResult } from './definitions/tests.ts';
import { LintFinding } from './lint.ts';
import { GateName } from './settings/deploy-gates.ts';
import { byPlural, CONFIGURED, ENTITIES, ENTITY_KINDS, isOwned } from './entities.ts';
import { Checksum, Empty, textBetween, Timestamp } from './fields.ts';
import { operation } from './operation.ts';

export const FORMAT = 'sluice/1';

const lists = byPlural(ENTITY_KINDS, (kind) => {
  const difference = isOwned(kind)
    ? 'with `connection` (its name) in the place of `connection_id`'
    : kind === 'toolset'
      ? 'with names in the place of ids: `include` and `exclude` have `tags`, `connections`, `tools`, `resources` and `prompts`'
      : kind === 'test'
        ? 'with the `name` of its definition in the place of its id in `owner`'
        : 'without secrets; a secret entry of `extra_params` is null';
  const taken = `The fields of \`${ENTITIES[kind].plural}.create\`, ${difference}`;
  return v.pipe(v.array(v.record(v.string(), v.unknown())), v.description(taken));
});
const sorted = <E extends v.ObjectEntries>(entries: E): E =>
  Object.fromEntries(Object.entries(entries).toSorted(([a], [b]) => (a < b ? -1 : 1))) as E;

/** Contains no IDs and no secrets. Keys and record names are sorted, for readable diffs. */
export const Export = v.object(
  sorted({
    ...lists,
    exported_at: Timestamp,
    format: v.literal(FORMAT),
    server_config: v.pipe(v.record(v.string(), v.unknown()), v.description('The fields of `config.update`, without secrets')),
  }),
);
export type Export = v.InferOutput<typeof Export>;

/** Records are validated one by one, so that the report can name each. */
export const importLists = byPlural(ENTITY_KINDS, (kind) =>
  v.optional(v.pipe(v.array(v.unknown()), v.maxLength(ENTITIES[kind].most_imported)), []),
);
const deletes = byPlural(ENTITY_KINDS, (kind) =>
  v.optional(v.pipe(v.array(textBetween(1, 255)), v.maxLength(ENTITIES[kind].most_imported)), []),
);
const NONE: v.InferInput<v.StrictObjectSchema<typeof deletes, undefined>> = {};
/** Validation stops after this many faults. */
export const MOST_FAULTS = 100;

const Pushed = v.record(textBetween(1, 300), textBetween(1, 100));

export const Import = v.strictObject({
  dry_run: v.optional(v.boolean(), false),
  check: v.pipe(
    v.optional(v.boolean(), false),
    v.description('With dry_run: also lint what would change, and run its tests as if it were stored'),
  ),
  mode: v.pipe(
    v.optional(v.picklist(['merge', 'overwrite']), 'merge'),
    v.description('What happens to existing names: merge leaves them unchanged, overwrite replaces them and keeps their secrets'),
  ),
  include_server_config: v.optional(v.boolean(), false),
  format: v.literal(FORMAT),
  exported_at: v.optional(v.string()),
  server_config: v.optional(v.record(v.string(), v.unknown())),
  ...importLists,
  deletes: v.pipe(
    v.optional(v.strictObject(deletes), NONE),
    v.description(
      'Names of records that are deleted in the same transaction, by kind. Tests go with their definition, unless the import gives them another owner',
    ),
  ),
  if_checksum: v.pipe(
    v.optional(Checksum),
    v.description(
      'Refused with 409 unless it is the SHA-256 of the configuration as it is now: of the export as JSON with sorted keys and no white space, without `exported_at`',
    ),
  ),
  pushed: v.pipe(
    v.optional(Pushed),
    v.description('For `sluice push`: hashes of the records and settings in its files, which `GET export-import/pushed` returns'),
  ),
});
export type Import = v.InferOutput<typeof Import>;

const ImportCounts = v.object({
  ...byPlural(ENTITY_KINDS, () => v.number()),
  server_config: v.number(),
});
export type ImportCounts = v.InferOutput<typeof ImportCounts>;

const remark = {
  entity_type: v.picklist(CONFIGURED),
  name: v.nullable(v.string()),
  message: v.string(),
};
export const ImportFault = v.object({
  ...remark,
  index: v.pipe(v.nullable(v.number()), v.description('Index in the list of its kind, from 0')),
  field: v.nullable(v.string()),
});
export type ImportFault = v.InferOutput<typeof ImportFault>;

/** Problems between an import and its deploy. */
export const ImportChecks = v.object({
  findings: v.pipe(v.array(LintFinding), v.description('What lint finds in definitions that would change')),
  problems: v.pipe(v.array(v.string()), v.description('Why the configuration could not be deployed afterwards')),
  tests: v.object({
    passed: v.number(),
    failed: v.number(),
    skipped: v.number(),
    results: v.array(
      v.object({ ...TestResult.entries, owner: v.object({ kind: TestOwner.entries.kind, id: v.string(), name: v.string() }) }),
    ),
  }),
  blocking: v.pipe(v.array(GateName), v.description('Gates that would block a deploy with these findings and results')),
});
export type ImportChecks = v.InferOutput<typeof ImportChecks>;

export const ImportReport = v.object({
  dry_run: v.boolean(),
  batch_id: v.pipe(
    v.nullable(v.string()),
    v.description('Shared by all history entries of this import; null if nothing was stored. The agent tool rollback accepts it'),
  ),
  created: ImportCounts,
  updated: ImportCounts,
  deleted: v.pipe(ImportCounts, v.description('Tests that went with their definition are counted too')),
  skipped: v.pipe(ImportCounts, v.description('Unchanged: the name exists (merge), or nothing differs (overwrite)')),
  errors: v.array(ImportFault),
  errors_truncated: v.pipe(v.boolean(), v.description(`Validation stopped after ${MOST_FAULTS} errors; there may be more`)),
  warnings: v.array(v.object(remark)),
  needs_secrets: v.pipe(
    v.array(v.object({ connection: v.nullable(v.string()), fields: v.array(v.string()) })),
    v.description('Imported connections that need these fields set before they work; null: the server configuration'),
  ),
  checks: v.optional(v.pipe(ImportChecks, v.description('With `check`, when nothing is refused'))),
});
export type ImportReport = v.InferOutput<typeof ImportReport>;

export const transfer = {
  'transfer.export': operation('GET /export-import/export', 'write', {
    audited: 'export',
    input: Empty,
    output: Export,
    agent: 'export_config',
    summary: 'Export the configuration without secrets',
  }),
  'transfer.pushed': operation('GET /export-import/pushed', 'write', {
    input: Empty,
    output: v.object({
      records: v.pipe(Pushed, v.description('Hashes by kind and name, such as `tool:find_orders` or `setting:instructions`')),
    }),
    summary: 'Get what the last push of configuration files left, so that a fresh checkout notices changes made since',
  }),
  'transfer.import': operation('POST /export-import/import', 'write', {
    input: Import,
    query: ['dry_run', 'check', 'mode', 'include_server_config'],
    output: ImportReport,
    summary: 'Import an export: all of it, or nothing if anything is invalid',
    max_body: 16 * 1024 * 1024,
  }),
};
