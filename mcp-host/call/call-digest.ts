import { createHash } from 'node:crypto';
import { canonical } from '#snapshots/format/canonical.ts';
import type { Members } from '#mcp-host/protocol/messages.ts';
import type { CallContext } from './context.ts';

/** Of what was asked for, and of who asked: what is sealed for one call is good for no other. */
export function callDigest(args: Members, { caller, identity, rights }: CallContext): string {
  const text = canonical([args, caller.owner, rights.key, identity]);
  return createHash('sha256').update(text).digest('base64url');
}
