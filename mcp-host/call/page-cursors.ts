import { createHash } from 'node:crypto';
import { canonical } from '#snapshots/format/canonical.ts';
import type { Members } from '#mcp-host/protocol/messages.ts';
import type { CallContext } from './context.ts';
import type { Position } from '#core/query/pages.ts';
import { createSealing } from '#core/lib/sealing.ts';
import { AppError } from '#core/errors.ts';

interface Cursor {
  readonly tool_id: string;
  /** Checksum of the served snapshot. */
  readonly snapshot: string;
  /** Digest of the arguments and the caller. */
  readonly call: string;
  readonly position: Position;
}

/** One call of a tool with pages, without the cursor in its arguments. */
interface PagedCall {
  readonly tool_id: string;
  readonly args: Members;
  readonly context: CallContext;
}

/** Seals the start of the next page of a call. Only the same call of the same caller can open it. */
export interface PageCursors {
  seal(call: PagedCall, position: Position): string;
  /** Everything that a cursor is bound to, as JSON; part of the cache key of a page. */
  bound(call: PagedCall): object;
  /** @param after the argument that the caller sent. Throws `invalid` when it is not a cursor of this call. */
  open(call: PagedCall, after: unknown): Position;
}

const LONGEST = 8_192;

/** @param keys the same as for `createSealing`. */
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
      if (cursor.snapshot !== snapshot) throw invalid('after is of another version of this server. Start with the first page.');
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

/** Digest of the arguments and the caller, so that a value sealed for one call is invalid for every other one. */
export function callDigest(args: Members, { caller, identity, rights }: CallContext): string {
  const text = canonical([args, caller.owner, rights.key, identity]);
  return createHash('sha256').update(text).digest('base64url');
}
