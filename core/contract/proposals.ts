import * as v from 'valibot';
import { SnapshotChange } from './deploy/deploy.ts';
import { Calls, Replay } from './deploy/replay.ts';
import { Parameters } from './definitions/parameters.ts';
import { Preview } from './definitions/preview.ts';
import { TestResult } from './definitions/tests.ts';
import { CONFIGURED } from './entities.ts';
import { byId, Id, integerBetween, listInput, listOf, textBetween, Timestamp, Version } from './fields.ts';
import { valuesOf } from './marks.ts';
import { operation } from './operation.ts';

/** Maximum open proposals per installation, then operations and comments per proposal. */
export const MOST_OPEN_PROPOSALS = 500;
/** Maximum open proposals per author, so that one author cannot use up the limit of all. */
export const MOST_OPEN_OF_AUTHOR = 50;
export const MOST_OPERATIONS = 100;
export const MOST_COMMENTS = 200;
/** Retention of closed proposals, in days. */
export const CLOSED_PROPOSAL_DAYS = 90;
/** Writes without a named proposal go to the token's latest one, if its last write was within this time. */
export const GATHER_MINUTES = 30;
export const LONGEST_NOTE = 2_000;

export const PROPOSAL_CHOICES = { open: { label: 'Open' }, approved: { label: 'Approved' }, rejected: { label: 'Rejected' } };
export const ProposalStatus = v.picklist(valuesOf(PROPOSAL_CHOICES));
export type ProposalStatus = v.InferOutput<typeof ProposalStatus>;

export const ProposalAuthor = v.object({
  type: v.picklist(['admin', 'agent_token', 'oauth_client', 'system']),
  id: v.nullable(v.string()),
  name: v.string(),
});
export type ProposalAuthor = v.InferOutput<typeof ProposalAuthor>;

export const TouchedRecord = v.object({
  entity_type: v.picklist(CONFIGURED),
  entity_id: v.string(),
  entity_name: v.string(),
  action: v.picklist(['create', 'update', 'delete']),
  version: v.pipe(v.nullable(v.number()), v.description('The version that the change was made on; null for a new record')),
});
export type TouchedRecord = v.InferOutput<typeof TouchedRecord>;

const head = {
  id: Id,
  title: v.string(),
  note: v.pipe(v.nullable(v.string()), v.description('Why it is proposed, in the words of its author')),
  status: ProposalStatus,
  author: ProposalAuthor,
  version: v.pipe(Version, v.description('Grows with each operation that is added; approve requires it, reject takes it')),
  created_at: Timestamp,
  updated_at: Timestamp,
  closed_at: v.nullable(Timestamp),
  closed_by: v.pipe(v.nullable(v.string()), v.description('Who approved or rejected it')),
};

export const ProposalItem = v.object({
  ...head,
  operation_count: v.number(),
  taken_count: v.pipe(v.nullable(v.number()), v.description('Operations that approval applied; null: it is not approved')),
  comment_count: v.number(),
});
export type ProposalItem = v.InferOutput<typeof ProposalItem>;

export const ProposalOperation = v.object({
  position: v.number(),
  operation: v.pipe(v.string(), v.description('Name of the operation, such as tools.create')),
  summary: v.pipe(v.string(), v.description('What it does, in words')),
  note: v.nullable(v.string()),
  touched: v.array(TouchedRecord),
  created_at: Timestamp,
  needs: v.pipe(
    v.optional(v.array(v.number())),
    v.description('Of an open proposal: positions of earlier operations that it cannot be applied without'),
  ),
  taken: v.pipe(
    v.optional(v.boolean()),
    v.description('Of an approved proposal: whether approval applied it; absent: approval applied all'),
  ),
});
export type ProposalOperation = v.InferOutput<typeof ProposalOperation>;

const ProposalFinding = v.object({
  gate: v.string(),
  message: v.string(),
  field: v.nullable(v.string()),
  blocks: v.pipe(v.boolean(), v.description('A deploy would be blocked by it')),
});
export type ProposalFinding = v.InferOutput<typeof ProposalFinding>;

const StaleRecord = v.object({ entity_type: v.picklist(CONFIGURED), entity_name: v.string(), message: v.string() });
export type StaleRecord = v.InferOutput<typeof StaleRecord>;

/** Contents of a review besides the operations. */
const reviewed = {
  diff: v.pipe(
    v.array(SnapshotChange),
    v.description('What approval changes in the working copy, served or not; secrets are shown as "[redacted]"'),
  ),
  findings: v.array(ProposalFinding),
  tests: v.pipe(
    v.array(TestResult),
    v.description('Results of the tests of what changes; those of writing tools are skipped until an editor runs them'),
  ),
  test_changes: v.pipe(
    v.array(
      v.object({
        name: v.string(),
        change: v.picklist(['added', 'changed', 'removed']),
        values: v.record(v.string(), v.object({ old: v.unknown(), new: v.unknown() })),
      }),
    ),
    v.description('Tests that it adds, changes or removes'),
  ),
};
const Reviewed = v.object(reviewed);
export type Reviewed = v.InferOutput<typeof Reviewed>;
/** The stored review of a closed proposal, whose operations are deleted. */
export interface ClosedProposal extends Reviewed {
  readonly operations: readonly ProposalOperation[];
}

export const ProposalComment = v.object({ id: Id, author: ProposalAuthor, text: v.string(), created_at: Timestamp });
export type ProposalComment = v.InferOutput<typeof ProposalComment>;

export const Proposal = v.object({
  ...ProposalItem.entries,
  ...reviewed,
  operations: v.array(ProposalOperation),
  comments: v.array(ProposalComment),
  stale: v.pipe(
    v.array(StaleRecord),
    v.description('Records that changed since it was proposed; it cannot be approved until its author or an editor rebases it'),
  ),
  problem: v.pipe(v.nullable(v.string()), v.description('Why it cannot be applied to the working copy any more')),
});
export type Proposal = v.InferOutput<typeof Proposal>;

const reviewed_version = v.pipe(Version, v.description('The version that was reviewed; another one stored is a conflict'));
const comment = v.optional(textBetween(1, LONGEST_NOTE));

/** Changes requested by tokens with the scope `propose`. */
export const proposals = {
  'proposals.list': operation('GET /proposals', 'read', {
    input: v.strictObject({ ...listInput(500), state: v.optional(ProposalStatus) }),
    output: v.object({ ...listOf(ProposalItem).entries, open: v.pipe(v.number(), v.description('All open ones')) }),
    agent: 'list_proposals',
    summary: 'List proposals, newest first; closed ones for 90 days',
  }),
  'proposals.get': operation('GET /proposals/{id}', 'read', {
    input: byId,
    output: Proposal,
    agent: 'get_proposal',
    summary: 'Read a proposal with its diff, findings of the gates and test results',
  }),
  'proposals.test': operation('POST /proposals/{id}/test', 'session', {
    role: 'editor',
    input: v.strictObject({ id: Id, version: v.optional(reviewed_version) }),
    output: Proposal,
    summary: 'Run the tests of an open proposal, also those whose statements write, which are rolled back',
  }),
  'proposals.approve': operation('POST /proposals/{id}/approve', 'session', {
    audited: 'approval',
    role: 'editor',
    // A reviewer must not approve operations that were added after they read the proposal.
    needs: ['version'],
    input: v.strictObject({
      id: Id,
      version: v.optional(reviewed_version),
      comment,
      positions: v.pipe(
        v.optional(v.pipe(v.array(integerBetween(1, MOST_OPERATIONS)), v.minLength(1), v.maxLength(MOST_OPERATIONS))),
        v.description('Operations to apply; the others are left out for good. Absent: all'),
      ),
    }),
    output: ProposalItem,
    summary: 'Apply the operations of a proposal to the working copy, or some of them; what is applied is applied all or nothing',
  }),
  'proposals.try': operation('POST /proposals/{id}/try', 'session', {
    audited: 'call',
    role: 'editor',
    needs: ['tool_id'],
    input: v.strictObject({
      id: Id,
      version: v.optional(reviewed_version),
      tool_id: v.optional(v.pipe(Id, v.description('A tool that the proposal creates or changes'))),
      arguments: v.pipe(
        v.optional(v.record(v.string(), v.unknown())),
        v.description('Absent: nothing runs, and the answer says which parameters the tool has'),
      ),
    }),
    output: v.object({
      name: v.string(),
      read_only: v.boolean(),
      parameters: Parameters,
      preview: v.pipe(v.nullable(Preview), v.description('Its rows; null: nothing ran')),
    }),
    summary: 'Run a reading tool as an open proposal would leave it, read-only, for at most 10 seconds',
  }),
  'proposals.reject': operation('POST /proposals/{id}/reject', 'session', {
    audited: 'approval',
    role: 'editor',
    input: v.strictObject({
      id: Id,
      version: v.optional(reviewed_version),
      comment,
      all_of_author: v.optional(v.pipe(v.boolean(), v.description('Every other open proposal of its author, too')), false),
    }),
    output: ProposalItem,
    summary: 'Close a proposal without applying it, or all that its author has open',
  }),
  'proposals.comment': operation('POST /proposals/{id}/comment', 'write', {
    needs: ['text'],
    input: v.strictObject({ id: Id, text: v.optional(v.pipe(textBetween(1, LONGEST_NOTE), v.description('The comment'))) }),
    output: ProposalComment,
    status: 201,
    agent: 'comment_on_proposal',
    summary: 'Comment on a proposal; a token with propose alone only on its own',
  }),
  'proposals.replay': operation('POST /proposals/{id}/replay', 'deploy', {
    input: v.strictObject({ id: Id, calls: Calls }),
    output: Replay,
    summary:
      'Run recent calls of reading tools on the live version and on the working copy with a proposal, and compare the answers',
  }),
  'proposals.rebase': operation('POST /proposals/{id}/rebase', 'write', {
    input: byId,
    output: ProposalItem,
    agent: 'rebase_proposal',
    summary: 'Apply a stale proposal to the working copy as it is now, to be reviewed again',
  }),
};
