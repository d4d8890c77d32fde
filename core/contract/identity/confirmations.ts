import * as v from 'valibot';
import { Nothing, Timestamp } from '../fields.ts';
import { operation } from '../operation.ts';
import { ClientFacts } from './oauth.ts';

/** Sealed by the host that requests the confirmation. */
const Request = v.string();

/** The changes of a tool, for the person whose client called it. */
export const ConfirmationRequest = v.object({
  tool: v.string(),
  title: v.nullable(v.string()),
  statement: v.pipe(v.nullable(v.string()), v.description('Verb and table, such as `DELETE FROM notes`; null: not one table')),
  affected_rows: v.number(),
  direct_rows: v.pipe(
    v.nullable(v.number()),
    v.description('Of these, rows of the statement itself; the others are changed by cascades, triggers and functions'),
  ),
  rows_before: v.pipe(v.nullable(v.number()), v.description('How many rows it was when the person was last asked')),
  arguments: v.array(v.object({ name: v.string(), value: v.pipe(v.string(), v.description('JSON, in full')) })),
  client: v.pick(ClientFacts, ['name', 'kind', 'host']),
  resource: v.pipe(v.string(), v.description('Address of the MCP server')),
  person: v.object({ username: v.string() }),
  expires_at: Timestamp,
});
export type ConfirmationRequest = v.InferOutput<typeof ConfirmationRequest>;

/** Confirmation of a write on a page, for people whose MCP client cannot show forms. */
export const confirmations = {
  'confirmations.get': operation('GET /confirmations/{request}', 'session', {
    role: 'caller',
    input: v.strictObject({ request: Request }),
    output: ConfirmationRequest,
    summary: 'Get what a tool would change; only the person whose client called it can',
  }),
  'confirmations.approve': operation('POST /confirmations/{request}/approve', 'session', {
    audited: 'approval',
    role: 'caller',
    input: v.strictObject({ request: Request }),
    output: Nothing,
    status: 204,
    summary: 'Approve what a tool would change, as the person whose client called it; the first decision counts',
  }),
  'confirmations.decline': operation('POST /confirmations/{request}/decline', 'session', {
    audited: 'approval',
    role: 'caller',
    input: v.strictObject({ request: Request }),
    output: Nothing,
    status: 204,
    summary: 'Decline what a tool would change, as the person whose client called it',
  }),
};
