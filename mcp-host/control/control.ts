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
import type { SignedListsEvent } from '#core/contract/deploy/signed-lists.ts';
import { SIGN_OF_LIFE } from '#core/contract/deploy/control.ts';
import { type Installation, installationOf } from '#core/contract/deploy/installation.ts';
import type { Log } from '#core/process/log.ts';
import { PRODUCT_VERSION } from '#core/process/version.ts';
import { setTimeout as sleep } from 'node:timers/promises';
import { readEvents } from '#mcp-host/protocol/events.ts';
import { isMembers } from '#mcp-host/protocol/messages.ts';

export interface ListenEvent {
  readonly host: string;
  readonly port: number;
  readonly request_id: string;
}

/** The events that the server sends on the stream, besides pings. */
export type ControlEvent =
  | { readonly event: 'snapshot'; readonly data: SnapshotEvent }
  | { readonly event: 'listen'; readonly data: ListenEvent }
  | { readonly event: 'tokens'; readonly data: { readonly tokens: readonly LiveToken[] } & NamedList }
  | { readonly event: 'identity'; readonly data: IdentityList & NamedList }
  | { readonly event: 'names'; readonly data: { readonly names: readonly string[] } }
  | { readonly event: 'beside'; readonly data: SideSnapshotsEvent }
  | { readonly event: 'signed'; readonly data: SignedListsEvent }
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
  /** `<version>:<checksum>` of the loaded snapshot, or empty. */
  readonly have: () => string;
  /** Why the host ignores a server of this installation; null: it accepts the server. */
  readonly refusal?: (installation: Installation | null) => string | null;
  /** A connection without a byte for this time counts as lost. Slow transfers continue: a large snapshot is not restarted. */
  readonly quiet_ms?: number;
  /** The body of a sign of life. */
  readonly sign?: () => object;
  /** How often a connected host posts a sign of life: the server cannot tell a frozen host from one that reads its stream. */
  readonly alive_ms?: number;
  /**
   * A connection is renewed after half to one and a half times this time. After a rolling restart of several servers all hosts are connected
   * to one of them, and a load balancer spreads them again.
   */
  readonly renew_ms?: number;
  readonly min_retry_ms?: number;
  readonly max_retry_ms?: number;
}

export interface ControlHandlers {
  /** Called for one event after the other. Events of `AT_ONCE` do not wait. */
  readonly onEvent: (event: ControlEvent) => Promise<void>;
  /** Reports to the server why it is refused, or, with the id of a request, that the host does not take part in it. */
  readonly onRefused?: (answer: { readonly error: string } | { readonly request_id: string }) => void;
}

export type HostPost = 'ack' | 'alive' | 'usage' | 'leave' | 'replay';

/** The connection to the server: one long-lived stream in, acknowledgements and usage out. */
export interface Control {
  start(handlers: ControlHandlers): void;
  /** Rejects when the server did not accept the body, with its `status` if it answered. */
  post(path: HostPost, body: object): Promise<void>;
  /**
   * Fetches the missing parts of a candidate or version. Rejects when the server does not send them. @param have as on the
   * stream.
   */
  fetchBeside(name: string, have: string): Promise<SnapshotEvent>;
  /** Reconnects at once, so that the host reports its snapshot again. */
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
  'signed',
  'replay',
  'cancel',
  'decision',
  'stop',
]);

/** Revocations and cancellations must not wait for a loading snapshot or a hanging disk, and calls wait for decisions. */
const AT_ONCE: ReadonlySet<string> = new Set(['tokens', 'identity', 'cancel', 'decision']);

const POST_TIMEOUT_MS = 10_000;

const DEFAULTS = {
  quiet_ms: 25_000,
  alive_ms: SIGN_OF_LIFE.every_ms,
  renew_ms: 30 * 60_000,
  min_retry_ms: 250,
  max_retry_ms: 10_000,
};

/** The connection was ended to open another one. */
class Renewal extends Error {}

/** From half to one and a half times, so that many hosts do not do the same at once. */
const varied = (ms: number): number => ms * (0.5 + Math.random());

type Settings = ControlOptions & typeof DEFAULTS;

export const createControl = (options: ControlOptions): Control => new ControlStream({ ...DEFAULTS, ...options });

class ControlStream implements Control {
  readonly #options: Settings;
  readonly #base: string;
  readonly #headers: Readonly<Record<string, string>>;
  readonly #end = new AbortController();
  #connected = false;
  #last_event_at: string | null = null;
  #queue: Promise<void> = Promise.resolve();
  #retry_ms: number;
  #current: AbortController | null = null;
  /** Why the host ignores the current or last server; null: it accepts the server. */
  #refused: string | null = null;

  constructor(options: Settings) {
    this.#options = options;
    this.#base = `${options.server_url}/api/internal/hosts`;
    this.#headers = { 'x-service-token': options.service_token };
    this.#retry_ms = this.#options.min_retry_ms;
  }

  start(handlers: ControlHandlers): void {
    void this.#run(handlers);
  }

  again(): void {
    this.#current?.abort(new Error('the host requests the whole snapshot'));
  }

  async post(path: HostPost, body: object): Promise<void> {
    // Usage belongs in the metadata database of the installation that the served version comes from.
    if (this.#refused !== null && path === 'usage') throw new Error(this.#refused);
    const response = await fetch(`${this.#base}/${encodeURIComponent(this.#options.id)}/${path}`, {
      method: 'POST',
      headers: { ...this.#headers, 'content-type': 'application/json' },
      body: JSON.stringify(body),
      signal: AbortSignal.any([this.#end.signal, AbortSignal.timeout(POST_TIMEOUT_MS)]),
    });
    if (!response.ok) throw Object.assign(new Error(await reason(response)), { status: response.status });
    await response.body?.cancel();
  }

  async fetchBeside(name: string, have: string): Promise<SnapshotEvent> {
    const query = new URLSearchParams({ have });
    const attempt = new AbortController();
    const watchdog = createWatchdog(attempt, this.#options.quiet_ms);
    try {
      const response = await fetch(
        `${this.#base}/${encodeURIComponent(this.#options.id)}/beside/${encodeURIComponent(name)}?${query}`,
        {
          headers: this.#headers,
          signal: AbortSignal.any([this.#end.signal, attempt.signal]),
        },
      );
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
  }

  state(): { connected: boolean; last_event_at: string | null } {
    return { connected: this.#connected, last_event_at: this.#last_event_at };
  }

  close(): void {
    this.#end.abort(new Error('the host is shutting down'));
  }

  #handle(event: string, data: string, { onEvent, onRefused }: ControlHandlers) {
    this.#last_event_at = new Date(this.#options.now()).toISOString();
    this.#retry_ms = this.#options.min_retry_ms;
    if (!EVENTS.has(event)) return;
    if (this.#refused !== null) {
      // A deploy waits for an answer of each host, and a refusing host does not open the address of a `listen` event.
      if (event === 'snapshot') onRefused?.({ error: this.#refused });
      if (event === 'listen') onRefused?.({ request_id: (JSON.parse(data) as ListenEvent).request_id });
      return;
    }
    const take = async () => onEvent({ event, data: JSON.parse(data) as unknown } as ControlEvent);
    const taken = AT_ONCE.has(event) ? take() : this.#queue.then(take);
    const settled = taken.catch((error: unknown) =>
      this.#options.log.error('control_event_failed', { event, error: String(error) }),
    );
    if (!AT_ONCE.has(event)) this.#queue = settled;
  }

  async #listen(handlers: ControlHandlers) {
    const query = new URLSearchParams({
      id: this.#options.id,
      have: this.#options.have(),
      alive: 'true',
      version: PRODUCT_VERSION,
    });
    const attempt = new AbortController();
    this.#current = attempt;
    const watchdog = createWatchdog(attempt, this.#options.quiet_ms);
    const renewal = setTimeout(() => attempt.abort(new Renewal()), varied(this.#options.renew_ms));
    let signs: ReturnType<typeof setInterval> | undefined;
    try {
      const response = await fetch(`${this.#base}/stream?${query}`, {
        headers: this.#headers,
        signal: AbortSignal.any([this.#end.signal, attempt.signal]),
      });
      if (!response.ok || response.body === null) throw new Error(await reason(response));
      this.#refused = this.#options.refusal?.(installationOf(response.headers)) ?? null;
      this.#connected = true;
      // When one is lost, the next follows.
      signs = setInterval(
        () => void this.post('alive', this.#options.sign?.() ?? {}).catch(() => undefined),
        this.#options.alive_ms,
      );
      this.#options.log.info('control_connected', { server_url: this.#options.server_url });
      if (this.#refused !== null) {
        this.#options.log.error('server_refused', { detail: this.#refused });
        handlers.onRefused?.({ error: this.#refused });
      }
      await readEvents(response.body, (event, data) => this.#handle(event, data, handlers), watchdog.refresh);
      throw new Error('the server ended the stream');
    } finally {
      watchdog.end();
      clearTimeout(renewal);
      clearInterval(signs);
      this.#connected = false;
    }
  }

  async #run(handlers: ControlHandlers) {
    while (!this.#end.signal.aborted) {
      const lost = await this.#listen(handlers).catch((error: unknown) => error);
      if (this.#end.signal.aborted) return;
      if (lost instanceof Renewal) continue;
      this.#options.log.warning('control_lost', {
        reason: lost instanceof Error ? lost.message : String(lost),
        retry_ms: this.#retry_ms,
      });
      await sleep(varied(this.#retry_ms));
      this.#retry_ms = Math.min(this.#retry_ms * 2, this.#options.max_retry_ms);
    }
  }
}

/** Aborts an attempt when nothing arrives for `quiet_ms`. */
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
