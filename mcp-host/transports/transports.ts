import { createProbes, type Readiness } from '#core/edge/probes.ts';
import type { Network } from '#core/process/env/settings.ts';
import type { Log } from '#core/process/log.ts';
import type { ServingState } from '#mcp-host/dispatch/serving.ts';
import type { Streams } from '#mcp-host/dispatch/streams.ts';
import type { Signatures } from '#mcp-host/dispatch/definitions.ts';
import { createUnread } from '#mcp-host/limits/unread.ts';
import type { RunningCalls } from '#mcp-host/requests/running-calls.ts';
import { createHttp, type HostFetch, type HttpOptions } from './http.ts';
import { createListener, type Listener, NO_LISTENER } from './listener.ts';
import { createSse } from './sse.ts';

export interface TransportSettings {
  readonly service_token: string;
  readonly trusted_proxies?: readonly Network[];
  /** Bearer token for reading metrics; absent: only requests from this machine may read them. */
  readonly metrics_token?: string | null;
  /** False: the host does not listen. */
  readonly network?: boolean;
  readonly grace_ms?: number;
  readonly log: Log;
}

interface Parts extends Pick<HttpOptions, 'dispatch' | 'auth' | 'candidates' | 'views' | 'health' | 'refused' | 'download'> {
  readonly serving: ServingState;
  readonly signed: Signatures;
  readonly streams: Streams;
  readonly running: Pick<RunningCalls, 'arriving'>;
  readonly names: { accepted(): ReadonlySet<string> };
  readonly metrics: { text(): Promise<string> };
  readonly readiness: () => Readiness;
  /** The URL of the listener, which it updates. */
  readonly address: { url: string | null };
}

/** HTTP with its event streams, and the address where it listens. */
export function createTransports(
  settings: TransportSettings,
  parts: Parts,
): { readonly fetch: HostFetch; readonly listener: Listener } {
  const { service_token, metrics_token = null, trusted_proxies = [], grace_ms = 10_000, log } = settings;
  const {
    dispatch,
    auth,
    candidates,
    serving,
    signed,
    streams,
    views,
    running,
    names,
    metrics,
    readiness,
    address,
    health,
    refused,
    download,
  } = parts;
  const fetch = createHttp({
    dispatch,
    arriving: running.arriving,
    auth,
    allowed_hosts: () => names.accepted(),
    service_token,
    trusted_proxies,
    sse: createSse({ dispatch, serving: serving.seenBy, views, streams, log }),
    views,
    serving: serving.current,
    servingAt: serving.at,
    canary: serving.canary,
    candidates,
    signatures: signed,
    ...(download !== undefined && { download }),
    health,
    unread: createUnread(),
    probes: createProbes({ service_token, metrics_token, readiness, metrics: () => metrics.text() }),
    refused,
  });
  if (settings.network === false) return { fetch, listener: NO_LISTENER };
  const onMove = (url: string | null) => (address.url = url);
  return { fetch, listener: createListener({ fetch, endStreams: (number) => streams.end(number), onMove, grace_ms, log }) };
}
