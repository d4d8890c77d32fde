import { beginning } from '#core/lib/text/shorten.ts';
import type { Refusal } from '#core/contract/observe/usage-batch.ts';
import { clientOf, type RequestRecord } from '#mcp-host/requests/request-record.ts';
import { RPC, RpcError } from '#mcp-host/protocol/messages.ts';
import { noteSeen } from '#mcp-host/protocol/refusal-notes.ts';

type RefusalKind = Refusal['kind'];

/** Requests that were refused before a call, to report to the server. */
export interface Refusals {
  /** Counts a request that was refused with an HTTP status. @param address is read only when the request is listed. */
  refused(status: number, reason: string, address: () => string, client: string | null): void;
  /** Counts the request of a record, if an error of the protocol refused it. */
  add(record: RequestRecord): void;
  /** Returns the refusals since the last call. All are counted, but only the first ones are listed. */
  take(): { readonly refusals: readonly Refusal[]; readonly refused: Readonly<Partial<Record<RefusalKind, number>>> } | null;
}

const REFUSAL_KINDS: Readonly<Record<number, RefusalKind>> = {
  401: 'unauthenticated',
  403: 'forbidden',
  404: 'not_found',
  413: 'too_large',
  429: 'rate_limited',
  400: 'protocol',
  415: 'protocol',
};
const LISTED = 100;
const LONGEST = 300;

export function createRefusals(now: () => number): Refusals {
  let listed: Refusal[] = [];
  let counts = new Map<RefusalKind, number>();
  const note = (
    kind: RefusalKind,
    status: number,
    reason: string,
    who: () => Pick<Refusal, 'address' | 'client' | 'called'>,
  ): void => {
    counts.set(kind, (counts.get(kind) ?? 0) + 1);
    if (listed.length < LISTED) listed.push({ timestamp: now(), kind, status, reason: beginning(reason, LONGEST), ...who() });
  };
  return {
    refused(status, reason, address, client) {
      const kind = REFUSAL_KINDS[status];
      if (kind !== undefined) note(kind, status, reason, () => ({ address: address(), client, called: null }));
    },
    add(record) {
      const { error, logged, exchange, message } = record;
      if (logged !== null || !(error instanceof RpcError)) return;
      noteSeen(error);
      const { code, fault, http_status, scopes } = error;
      const is_unknown = fault === 'not_found' || code === RPC.method_not_found;
      const kind = scopes.length > 0 ? 'forbidden' : (REFUSAL_KINDS[http_status] ?? (is_unknown ? 'not_found' : 'protocol'));
      note(kind, http_status, error.message, () => ({
        address: exchange.peer.listener === 0 ? null : exchange.address(),
        client: clientOf(record) || null,
        called: calledIn(message.params),
      }));
    },
    take() {
      if (counts.size === 0) return null;
      const taken = { refusals: listed, refused: Object.fromEntries(counts) };
      listed = [];
      counts = new Map();
      return taken;
    },
  };
}

const calledIn = ({ name, uri }: RequestRecord['message']['params']): string | null => {
  if (typeof name === 'string') return name.slice(0, 200);
  // The rest of a URI may contain arguments.
  return typeof uri === 'string' ? uri.slice(0, 200).replace(/^([a-z][a-z\d+.-]*:\/\/).+/is, '$1…') : null;
};
