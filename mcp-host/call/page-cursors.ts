import { createHash } from 'node:crypto';
import { canonical } from '#snapshots/format/canonical.ts';
import type { Members } from '#mcp-host/protocol/messages.ts';
import type { CallContext } from './context.ts';
import type { Position } from '#core/query/pages.ts';
import { createSealing } from '#core/lib/sealing.ts';
import { AppError } from '#core/errors.ts';

interface Cursor {
  readonly tool_id: string;
  /** Checksum of what is served. */
  readonly snapshot: string;
  /** Digest of the arguments and of who calls. */
  readonly call: string;
  readonly position: Position;
}

/** One call of a tool with pages, without the cursor in its arguments. */
interface PagedCall {
  readonly tool_id: string;
  readonly args: Members;
  readonly context: CallContext;
}

/** Says where the next page of a call begins; only the same call of the same caller reads it. */
export interface PageCursors {
  seal(call: PagedCall, position: Position): string;
  /** All that a cursor belongs to, as JSON: a page that is kept is kept for it alone. */
  bound(call: PagedCall): object;
  /** @param after as the caller sent it. Throws `invalid` when it is no cursor of this call. */
  open(call: PagedCall, after: unknown): Position;
}

const LONGEST = 8_192;

/** @param keys as `createSealing` has them. */
export function createPageCursors(keys: readonly string[]): PageCursors {
  const sealing = createSealing<Cursor>(keys, 'mcp-pages/1', LONGEST);
  const bound = ({ tool_id, args, context }: PagedCall) => ({
    tool_id,
    snapshot: context.registry.checksum,
    call: callDigest(args, context),
  });
  return {
    seal: (call, position) => sealing.seal({ ...bound(call), position }),
    bound,
    open(call, after) {
      const cursor = typeof after === 'string' ? sealing.open(after) : null;
      if (cursor === null) throw invalid('after must be the value of next in an earlier result of this tool.');
      const { tool_id, snapshot, call: digest } = bound(call);
      if (cursor.snapshot !== snapshot)
        throw invalid('after is of an earlier version of this server. Start with the first page.');
      if (cursor.tool_id !== tool_id || cursor.call !== digest) {
        throw invalid(
          'after belongs to another call. Send the same arguments as for the page before, or start with the first page.',
        );
      }
      return cursor.position;
    },
  };
}

const invalid = (message: string): AppError => new AppError('invalid', message, { errors: [{ field: 'after', message }] });

/** Of what was asked for, and of who asked: what is sealed for one call is good for no other. */
export function callDigest(args: Members, { caller, identity, rights }: CallContext): string {
  const text = canonical([args, caller.owner, rights.key, identity]);
  return createHash('sha256').update(text).digest('base64url');
}
