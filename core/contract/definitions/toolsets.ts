import * as v from 'valibot';
import { byId, Id, integerBetween, stored, Tags, textBetween, Title, Unchanged } from '../fields.ts';
import { field } from '../marks.ts';
import { Findings } from '../lint.ts';
import { entityOperations } from '../entity-operations.ts';
import { operation } from '../operation.ts';

export const MOST_TOOLSETS = 200;
/** Names whose paths below `/mcp` have another meaning. */
export const RESERVED_TOOLSETS: readonly string[] = ['tag', 'readonly', 'candidate', 'oauth'];

const NAME = /^[a-z][a-z0-9-]{0,31}$/;
export const isToolsetName = (text: string): boolean => NAME.test(text) && !RESERVED_TOOLSETS.includes(text);

export const ToolsetName = v.pipe(
  v.string(),
  v.regex(NAME, 'must begin with a lowercase letter and hold at most 32 lowercase letters, digits and hyphens'),
  v.check(
    (name) => !RESERVED_TOOLSETS.includes(name),
    `must not be ${RESERVED_TOOLSETS.slice(0, -1).join(', ')} or ${RESERVED_TOOLSETS.at(-1)}, which name other addresses`,
  ),
);
/** Names of toolsets that a token or client can use. */
export const ToolsetNames = v.pipe(v.array(ToolsetName), v.maxLength(MOST_TOOLSETS));

/** Maximum IDs per list of a selection. */
const MOST_IDS = 2_000;
const ids = v.optional(v.pipe(v.array(Id), v.maxLength(MOST_IDS)), []);

/** Selects definitions by tag, connection or ID: a definition is selected if any of the lists matches. */
export const Selection = v.strictObject({
  tags: v.optional(v.pipe(Tags, v.description('Definitions with any of these tags')), []),
  connection_ids: v.optional(v.pipe(v.array(Id), v.maxLength(1_000), v.description('All definitions of these connections')), []),
  tool_ids: ids,
  resource_ids: ids,
  prompt_ids: ids,
});
export type Selection = v.InferOutput<typeof Selection>;
const NOTHING: v.InferInput<typeof Selection> = {};

/** The rule that decides which definitions are in a toolset. */
const rule = {
  include: field(Selection, {
    label: 'Include',
    help: 'Tags, connections and single definitions. Anyone who can edit definitions can add one by tagging it. Defaults to nothing.',
    open: true,
    default: NOTHING,
  }),
  exclude: field(Selection, {
    label: 'Exclude',
    help: 'Left out even if they are included. Defaults to nothing.',
    open: true,
    default: NOTHING,
  }),
  read_only: field(v.boolean(), {
    label: 'Read-only',
    help: 'Leaves out tools that change data. Defaults to off.',
    open: true,
    default: false,
  }),
};

/** Whether people with one of the old groups, or without any, lose access. */
const isNarrower = (now: readonly string[], old: readonly string[]): boolean =>
  now.length > 0 && (old.length === 0 || old.some((group) => !now.includes(group)));

/** Tokens of the lists of a toolset without a budget, above which lint finds it. */
export const DEFAULT_TOKEN_BUDGET = 8_000;

const draft = {
  name: field(ToolsetName, {
    label: 'Name',
    help: 'Part of the address, and the scope that clients ask for: lowercase letters, digits and hyphens.',
    open: true,
  }),
  title: field(Title, { label: 'Title', help: 'For people, in clients that show one.', open: true, default: null }),
  description: field(textBetween(0, 5_000), {
    label: 'Description',
    help: 'Shown where people approve a client. Optional.',
    control: 'area',
    open: true,
    default: '',
  }),
  instructions: field(v.nullable(textBetween(1, 2_048)), {
    label: 'Instructions',
    help: 'Instructions that a model receives when it connects to this toolset. Optional.',
    control: 'area',
    open: true,
    default: null,
  }),
  ...rule,
  token_budget: field(v.nullable(integerBetween(100, 1_000_000)), {
    label: 'Token budget',
    unit: 'tokens',
    help: 'Lint finds the toolset if its lists take more of every conversation.',
    choices: { null: { label: DEFAULT_TOKEN_BUDGET.toLocaleString('en') } },
    open: true,
    default: null,
  }),
  find_tools: field(v.boolean(), {
    label: 'Tool search',
    help: 'Adds the tool find_tools, which answers a question with the tools that fit best. Defaults to off.',
    open: true,
    default: false,
  }),
  files: field(v.boolean(), {
    label: 'Files',
    help: 'Callers can download whole results of tools with a file. Defaults to off.',
    default: false,
  }),
  groups: field(v.pipe(v.array(textBetween(1, 255)), v.maxLength(100)), {
    label: 'Groups',
    help: 'Only people in one of these groups have this toolset. Empty means everyone who signs in.',
    breaking: (now, old) => (isNarrower(now as string[], old as string[]) ? 'Fewer people have access to this toolset.' : null),
    default: [],
  }),
  enabled: field(v.boolean(), {
    label: 'Enabled',
    help: 'Disabled toolsets are left out of the next deploy.',
    open: true,
    default: true,
  }),
};

export const ToolsetDraft = v.strictObject(draft);
export type ToolsetDraft = v.InferOutput<typeof ToolsetDraft>;

export const Toolset = v.object({
  id: Id,
  ...draft,
  ...stored,
  findings: Findings,
  unchanged: Unchanged,
});
export type Toolset = v.InferOutput<typeof Toolset>;

export const ToolsetMembers = v.object({
  members: v.array(
    v.object({
      kind: v.picklist(['tool', 'resource', 'prompt']),
      id: Id,
      name: v.string(),
      title: v.nullable(v.string()),
      connection_name: v.nullable(v.string()),
      read_only: v.boolean(),
      tokens: v.pipe(v.number(), v.description('What its entry in the list costs a model, estimated')),
    }),
  ),
  total: v.number(),
  tokens: v.pipe(v.number(), v.description('What all lists of the toolset cost a model together, estimated')),
});
export type ToolsetMembers = v.InferOutput<typeof ToolsetMembers>;

/** The caller's toolsets: the named ones, or those of a signed-in person with these groups. */
const Viewer = v.strictObject({
  toolsets: v.pipe(
    v.optional(v.nullable(ToolsetNames)),
    v.description('Names of toolsets; null: everything. Absent: the toolsets that a signed-in person in `groups` has'),
  ),
  groups: v.optional(v.pipe(v.array(textBetween(1, 255)), v.maxLength(100)), []),
});

export const toolsets = {
  ...entityOperations({
    kind: 'toolset',
    plural: 'toolsets',
    draft: ToolsetDraft,
    record: Toolset,
    filters: {},
    agents_list: true,
    agents_get: false,
  }),
  'toolsets.duplicate': operation('POST /toolsets/{id}/duplicate', 'write', {
    input: byId,
    output: Toolset,
    status: 201,
    summary: 'Copy a toolset under the name <name>-copy',
  }),
  'toolsets.members': operation('GET /toolsets/{id}/members', 'read', {
    input: byId,
    output: ToolsetMembers,
    summary: 'List what a toolset holds in the working copy, and what its lists cost a model',
  }),
  'toolsets.preview': operation('POST /toolsets/preview', 'read', {
    input: v.strictObject(rule),
    output: ToolsetMembers,
    summary: 'List what a toolset with these rules would hold',
  }),
  'toolsets.visible': operation('POST /toolsets/visible', 'read', {
    input: Viewer,
    output: v.object({
      toolsets: v.pipe(v.nullable(v.array(v.string())), v.description('Names of the enabled toolsets; null: everything')),
      ...ToolsetMembers.entries,
    }),
    summary: 'List what a caller sees in the working copy, and what its lists cost a model',
  }),
};
