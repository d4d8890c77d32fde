import * as v from 'valibot';
import { entityOperations } from '../entity-operations.ts';
import {
  byId,
  CHECK_CHOICES,
  Id,
  integerBetween,
  listOf,
  shownText,
  stored,
  textBetween,
  Timestamp,
  Unchanged,
} from '../fields.ts';
import { field, valuesOf } from '../marks.ts';
import { operation } from '../operation.ts';
import { PretendedCaller } from './pretended-caller.ts';

/** Maximum tests per definition. */
export const MOST_TESTS = 50;
/** Maximum stored results per test. */
export const MAX_RESULTS = 20;
/** Maximum tests per run. */
const MOST_RUN = 500;
/** Maximum characters of JSON. */
const MOST_ARGUMENTS = 65_536;
const MOST_EXPECTED = 262_144;

/** Kinds of definitions that can have tests. */
export const TESTED_KINDS = ['tool', 'resource', 'prompt'] as const;
export type TestedKind = (typeof TESTED_KINDS)[number];

export const TestOwner = v.strictObject({ kind: v.picklist(TESTED_KINDS), id: Id });
export type TestOwner = v.InferOutput<typeof TestOwner>;

const within = <T>(most: number) =>
  v.check<T, string>(
    (value) => JSON.stringify(value).length <= most,
    `must have at most ${most.toLocaleString('en')} characters as JSON`,
  );
const count = integerBetween(0, 1_000_000_000);
const Columns = v.pipe(v.array(textBetween(1, 255)), v.minLength(1), v.maxLength(500));

export const Expect = v.pipe(
  v.strictObject({
    error: v.pipe(
      v.optional(v.union([v.literal(true), textBetween(1, 1_000)], 'must be true or a part of the error message')),
      v.description('The call must fail: true, or a part of the error message'),
    ),
    columns: v.pipe(v.optional(Columns), v.description('Columns that the result must have')),
    absent_columns: v.pipe(v.optional(Columns), v.description('Columns that the result must not have')),
    rows: v.pipe(
      v.optional(
        v.pipe(
          v.strictObject({ min: v.optional(count), max: v.optional(count) }),
          v.check(({ min = 0, max = Number.POSITIVE_INFINITY }) => min <= max, 'must have a min that is at most max'),
        ),
      ),
      v.description('How many rows the result must have'),
    ),
    contains: v.pipe(
      v.optional(v.pipe(v.array(v.record(v.string(), v.unknown())), v.minLength(1), v.maxLength(100))),
      v.description('For each of these, some row must have the same values in these columns'),
    ),
    equals: v.pipe(
      v.optional(v.unknown()),
      v.description('The result as a client gets it: structured content or text; rows alone compare with the rows'),
    ),
    max_ms: v.optional(integerBetween(1, 3_600_000)),
    max_bytes: v.optional(integerBetween(1, 1_000_000_000)),
    max_tokens: v.optional(integerBetween(1, 100_000_000)),
  }),
  within(MOST_EXPECTED),
);
export type Expect = v.InferOutput<typeof Expect>;

const draft = {
  owner: field(TestOwner, { label: 'Definition', help: 'The tool, resource or prompt that it tests.', open: true }),
  name: field(shownText(100), { label: 'Name', help: 'What it checks, such as: finds the newest order.', open: true }),
  arguments: field(v.pipe(v.record(v.string(), v.unknown()), within(MOST_ARGUMENTS)), {
    label: 'Arguments',
    help: 'What the caller sends; for a resource, the variables of its URI.',
    open: true,
    default: {},
  }),
  caller: field(v.nullable(PretendedCaller), {
    label: 'Caller',
    help: 'The caller whose values, masks and session values apply. Defaults to no caller. Not for tokens.',
    open: true,
    people: true,
    default: null,
  }),
  expect: field(Expect, {
    label: 'Expected',
    help: 'What must hold. Empty means that the call succeeds.',
    open: true,
    default: {},
  }),
  enabled: field(v.boolean(), { label: 'Enabled', help: 'Disabled tests are left out of deploys.', open: true, default: true }),
};
export const TestDraft = v.strictObject(draft);
export type TestDraft = v.InferOutput<typeof TestDraft>;

export const TestStatus = v.picklist(valuesOf(CHECK_CHOICES));
export type TestStatus = v.InferOutput<typeof TestStatus>;

const verdict = {
  status: TestStatus,
  ms: v.number(),
  rows: v.pipe(v.nullable(v.number()), v.description('null: it has no rows')),
  failures: v.pipe(v.array(v.string()), v.description('Why it failed or was skipped')),
  error: v.nullable(v.string()),
  sqlstate: v.nullable(v.string()),
};
export const Against = v.union(
  [v.picklist(['draft', 'live']), integerBetween(1, 2 ** 31 - 1)],
  'must be draft, live or the number of a version',
);
export type Against = v.InferOutput<typeof Against>;

export const StoredResult = v.object({
  ...verdict,
  against: v.pipe(v.string(), v.description('draft, live, candidate, or the number of a version')),
  actor: v.string(),
  created_at: Timestamp,
});
export type StoredResult = v.InferOutput<typeof StoredResult>;

export const TestResult = v.object({ id: Id, name: v.string(), owner: TestOwner, ...verdict });
export type TestResult = v.InferOutput<typeof TestResult>;

export const Test = v.object({
  id: Id,
  ...draft,
  owner_name: v.string(),
  last: v.pipe(v.nullable(StoredResult), v.description('The newest result; null: it never ran')),
  ...stored,
  unchanged: Unchanged,
});
export type Test = v.InferOutput<typeof Test>;

export const tests = {
  ...entityOperations({
    kind: 'test',
    plural: 'tests',
    draft: TestDraft,
    record: Test,
    filters: {
      owner: v.pipe(
        v.optional(
          v.pipe(v.string(), v.regex(/^(?:tool|resource|prompt):[^\s]{1,64}$/, 'must be a kind and an id, such as tool:<id>')),
        ),
        v.description('Tests of one definition, such as tool:<id>'),
      ),
    },
    agents_list: true,
    agents_get: false,
  }),
  'tests.run': operation('POST /tests/run', 'read', {
    audited: 'call',
    role: 'viewer',
    input: v.pipe(
      v.strictObject({
        ids: v.optional(v.pipe(v.array(Id), v.minLength(1), v.maxLength(MOST_RUN))),
        owner: v.pipe(v.optional(TestOwner), v.description('All tests of one definition')),
        against: v.pipe(
          v.optional(Against, 'draft'),
          v.description('draft: the working copy; live: the deployed version; or the number of a version'),
        ),
      }),
    ),
    output: v.object({
      passed: v.number(),
      failed: v.number(),
      skipped: v.number(),
      results: v.array(TestResult),
    }),
    agent: 'run_tests',
    summary: 'Run tests: some, those of one definition, or all; what writes is rolled back',
  }),
  'tests.results': operation('GET /tests/{id}/results', 'read', {
    input: byId,
    output: listOf(StoredResult),
    summary: `List the latest results of a test, newest first; ${MAX_RESULTS} are kept`,
  }),
};
