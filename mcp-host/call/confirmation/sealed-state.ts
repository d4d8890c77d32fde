import type { Changes } from '#core/engines/shared/source.ts';
import type { Members } from '#mcp-host/protocol/messages.ts';
import { createSealing, type Sealing } from '#core/lib/sealing.ts';

/** A question that was asked, and all that an answer to it has to agree with. */
export interface Asked {
  /** Whether a person was asked with a form or led to a page, or a token was given that the model passes back. */
  readonly to: 'person' | 'page' | 'model';
  readonly tool_id: string;
  /** Checksum of what was served then. */
  readonly snapshot: string;
  /** Digest of the arguments and of who called. */
  readonly call: string;
  /** Null: arguments were asked for. */
  readonly changes: Changes | null;
  /** Arguments that a person filled in before; absent: none. */
  readonly given?: Members;
  /** Counts once. */
  readonly nonce: string;
  /** The host that remembers the nonce; null: all of them do. */
  readonly host: string | null;
  readonly asked_at: number;
  readonly ends_at: number;
}

export type SealedState = Sealing<Asked>;

export const createSealedState = (keys: readonly string[]): SealedState => createSealing(keys, 'mcp-confirmations/1', 8_192);
