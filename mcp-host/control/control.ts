import type {
  SideSnapshotsEvent,
  LiveToken,
  NamedList,
  ReplayEnd,
  ReplayRequest,
  SnapshotEvent,
  DecisionEvent,
  IdentityList,
} from '#core/contract/deploy/control.ts';
import { type Installation, installationOf } from '#core/contract/deploy/installation.ts';
import type { Log } from '#core/process/log.ts';
import { setTimeout as sleep } from 'node:timers/promises';
import { readEvents } from '#mcp-host/protocol/events.ts';
import { isMembers } from '#mcp-host/protocol/messages.ts';

export interface ListenEvent {
  readonly host: string;
  readonly port: number;
  readonly request_id: string;
}

/** What the server says on the stream, beside pings (contract section 0). */
export type ControlEvent =
  | { readonly event: 'snapshot'; readonly data: SnapshotEvent }
  | { readonly event: 'listen'; readonly data: ListenEvent }
  | { readonly event: 'tokens'; readonly data: { readonly tokens: readonly LiveToken[] } & NamedList }
  | { readonly event: 'identity'; readonly data: IdentityList & NamedList }
  | { readonly event: 'names'; readonly data: { readonly names: readonly string[] } }
  | { readonly event: 'beside'; readonly data: SideSnapshotsEvent }
  | { readonly event: 'replay'; readonly data: ReplayRequest | ReplayEnd }
  | { readonly event: 'cancel'; readonly data: { readonly id: string } }
  | { readonly event: 'decision'; readonly data: DecisionEvent }
  | { readonly event: 'stop'; readonly data: object };

export interface ControlOptions {
  /** Origin of the server. */
  readonly server_url: string;
  readonly service_token: string;
  readonly id: string;
  readonly log: Log;
  readonly now: () => number;
  /** `<version>:<checksum>` of the snapshot held, or empty. */
  readonly have: () => string;
  /** Why nothing is taken from a server of this installation, null: it is. */
  readonly refusal?: (installation: Installation | null) => string | null;
  /** The server is to know why, or, with the id of a request, that the host has no part in it. */
  readonly onRefused?: (answer: { readonly error: string } | { readonly request_id: string }) => void;
  /** Events are handed over one after the other, but for the lists of who counts, which wait for nothing. */
  readonly onEvent: (event: ControlEvent) => Promise<void>;
  /** Without a byte for so long a connection counts as lost: over a slow link a snapshot takes long, and is not begun anew. */
  readonly quiet_ms?: number;
  readonly min_retry_ms?: number;
  readonly max_retry_ms?: number;
}

/** The host's line to the server: one long-lived stream in, acknowledgements and usage out. */
export interface Control {
  start(): void;
  /** Rejects when the server did not take it, with the `status` that it answered, if it did. */
  post(path: 'ack' | 'usage' | 'leave' | 'replay', body: object): Promise<void>;
  /** Of a candidate or version what is missing here. Rejects when the server did not answer with it. @param have as on the stream. */
  fetchBeside(name: string, have: string): Promise<SnapshotEvent>;
  /** Connects anew at once, so that the server hears again what the host has. */
  again(): void;
  state(): { connected: boolean; last_event_at: string | null };
  close(): void;
}

const EVENTS: ReadonlySet<string> = new Set([
  'snapshot',
  'listen',
  'tokens',
  'identity',
  'names',
  'beside',
  'replay',
  'cancel',
  'decision',
  'stop',
]);

/** A revoked token or a cancelled call must not outlive a snapshot that loads or a disk that hangs, and a decision is waited for. */
const AT_ONCE: ReadonlySet<string> = new Set(['tokens', 'identity', 'cancel', 'decision']);

const POST_TIMEOUT_MS = 10_000;

export function createControl(options: ControlOptions): Control {
  const { server_url, service_token, id, log, quiet_ms = 25_000, min_retry_ms = 250, max_retry_ms = 10_000 } = options;
  const base = `${server_url}/api/internal/hosts`;
  const headers = { 'x-service-token': service_token };
  const end = new AbortController();
  let connected = false;
  let last_event_at: string | null = null;
  let queue: Promise<void> = Promise.resolve();
  let retry_ms = min_retry_ms;
  let current: AbortController | null = null;
  /** Why nothing is taken from the server that is connected, or was last. */
  let refused: string | null = null;

  const handle = (event: string, data: string) => {
    last_event_at = new Date(options.now()).toISOString();
    retry_ms = min_retry_ms;
    if (!EVENTS.has(event)) return;
    if (refused !== null) {
      // Who deploys waits for an answer. The address is for hosts that will serve there.
      if (event === 'snapshot') options.onRefused?.({ error: refused });
      if (event === 'listen') options.onRefused?.({ request_id: (JSON.parse(data) as ListenEvent).request_id });
      return;
    }
    const take = async () => options.onEvent({ event, data: JSON.parse(data) as unknown } as ControlEvent);
    const taken = AT_ONCE.has(event) ? take() : queue.then(take);
    const settled = taken.catch((error: unknown) => log.error('control_event_failed', { event, error: String(error) }));
    if (!AT_ONCE.has(event)) queue = settled;
  };

  const listen = async () => {
    const query = new URLSearchParams({ id, have: options.have() });
    const attempt = new AbortController();
    current = attempt;
    const watchdog = createWatchdog(attempt, quiet_ms);
    try {
      const response = await fetch(`${base}/stream?${query}`, { headers, signal: AbortSignal.any([end.signal, attempt.signal]) });
      if (!response.ok || response.body === null) throw new Error(await reason(response));
      refused = options.refusal?.(installationOf(response.headers)) ?? null;
      connected = true;
      log.info('control_connected', { server_url });
      if (refused !== null) {
        log.error('server_refused', { detail: refused });
        options.onRefused?.({ error: refused });
      }
      await readEvents(response.body, handle, watchdog.refresh);
      throw new Error('the server ended the stream');
    } finally {
      watchdog.end();
      connected = false;
    }
  };

  const run = async () => {
    while (!end.signal.aborted) {
      const lost = await listen().catch((error: unknown) => error);
      if (end.signal.aborted) return;
      log.warning('control_lost', { reason: lost instanceof Error ? lost.message : String(lost), retry_ms });
      await sleep(retry_ms * (0.5 + Math.random()));
      retry_ms = Math.min(retry_ms * 2, max_retry_ms);
    }
  };

  return {
    start: () => void run(),
    again: () => current?.abort(new Error('the host requests the whole snapshot')),
    async post(path, body) {
      // What was called belongs into the database that the tools are from.
      if (refused !== null && path === 'usage') throw new Error(refused);
      const response = await fetch(`${base}/${encodeURIComponent(id)}/${path}`, {
        method: 'POST',
        headers: { ...headers, 'content-type': 'application/json' },
        body: JSON.stringify(body),
        signal: AbortSignal.any([end.signal, AbortSignal.timeout(POST_TIMEOUT_MS)]),
      });
      if (!response.ok) throw Object.assign(new Error(await reason(response)), { status: response.status });
      await response.body?.cancel();
    },
    async fetchBeside(name, have) {
      const query = new URLSearchParams({ have });
      const attempt = new AbortController();
      const watchdog = createWatchdog(attempt, quiet_ms);
      try {
        const response = await fetch(`${base}/${encodeURIComponent(id)}/beside/${encodeURIComponent(name)}?${query}`, {
          headers,
          signal: AbortSignal.any([end.signal, attempt.signal]),
        });
        if (!response.ok) throw Object.assign(new Error(await reason(response)), { status: response.status });
        const decoder = new TextDecoder();
        let text = '';
        for await (const chunk of response.body ?? []) {
          watchdog.refresh();
          text += decoder.decode(chunk, { stream: true });
        }
        return JSON.parse(text) as SnapshotEvent;
      } finally {
        watchdog.end();
      }
    },
    state: () => ({ connected, last_event_at }),
    close: () => end.abort(new Error('the host is shutting down')),
  };
}

/** Ends an attempt during which nothing arrives for so long. */
function createWatchdog(attempt: AbortController, quiet_ms: number): { refresh(this: void): void; end(this: void): void } {
  const timer = setTimeout(() => attempt.abort(new Error(`nothing arrived for ${quiet_ms} ms`)), quiet_ms);
  return { refresh: () => void timer.refresh(), end: () => clearTimeout(timer) };
}

async function reason(response: Response): Promise<string> {
  const body: unknown = await response.json().catch(() => null);
  const detail = isMembers(body) && typeof body['detail'] === 'string' ? `: ${body['detail']}` : '';
  const hint = response.status === 401 ? ' (is SVC_AGENT_SERVICE_TOKEN the same on both?)' : '';
  return `the server answered ${response.status}${hint}${detail}`;
}
