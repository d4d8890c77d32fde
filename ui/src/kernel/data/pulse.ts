import { untrack } from 'solid-js';
import type { Announcement } from '#core/contract/announcements.ts';
import type { OperationName } from '#core/contract/index.ts';
import { parseJson } from '#ui/src/kernel/json.ts';
import { changedBy, sourcesOf } from './freshness.ts';
import { createLiveStream, type StreamSocket } from './live-stream.ts';
import type { Timers } from './query.ts';
import type { Line } from './session-gate.ts';

/** Change notifications of the server, so that pages reload only outdated answers. */
export interface Pulse {
  readonly line: Line;
  /** Whether an answer that was requested at `since` is outdated; without a connection, every answer of some age is. */
  readonly isOld: (name: OperationName, since: number) => boolean;
  /** The notification of a change from this page reloads nothing: the page has reloaded what the change affects. */
  readonly expect: (name: OperationName) => void;
}

const CHANGES_PATH = '/api/v1/changes';
/** The age at which answers count as outdated while no notifications arrive. */
const UNCONNECTED_MS = 15_000;
/** Changes before the connection are unknown; an answer of this age is shown as current in any case. */
const RECENT_MS = 1_000;
/** The time in which the notification of a change from this page arrives. */
const EXPECTED_MS = 2_000;

interface PulseOptions {
  /** Such as `wss://example.com`. */
  readonly origin: string;
  readonly onSessionEnd: () => void;
  readonly now?: () => number;
  readonly timers?: Timers;
  readonly connect?: (url: string) => StreamSocket;
  /** A socket stays open for a while after the network is gone. */
  readonly online?: () => boolean;
}

export function createPulse(options: PulseOptions): Pulse {
  const { origin, onSessionEnd, now = () => performance.now(), online = () => navigator.onLine, ...more } = options;
  /** Times of the last change, by source. */
  const changed = new Map<string, number>();
  const expected = new Map<Announcement, number>();
  let known_since = Number.POSITIVE_INFINITY;
  const isExpected = (what: Announcement): boolean => {
    const since = expected.get(what);
    expected.delete(what);
    return since !== undefined && now() - since < EXPECTED_MS;
  };
  const take = (text: string) => {
    const message = (parseJson(text) ?? {}) as { began?: true; changed?: readonly Announcement[] };
    if (message.began) known_since = now() - RECENT_MS;
    for (const what of message.changed ?? []) {
      const source = isOperation(what) ? changedBy(what, 'POST', {}) : what;
      if (source !== undefined && !isExpected(what)) changed.set(source, now());
    }
  };
  const stream = createLiveStream({
    url: () => `${origin}${CHANGES_PATH}`,
    onMessage: take,
    onFinal: onSessionEnd,
    ...more,
  });
  return {
    line: stream,
    isOld(name, since) {
      const sources = sourcesOf(name);
      if (sources.length === 0) return false;
      if (!online() || untrack(stream.state) !== 'open') return now() - since > UNCONNECTED_MS;
      return since <= known_since || sources.some((source) => since <= (changed.get(source) ?? Number.NEGATIVE_INFINITY));
    },
    expect: (name) => void expected.set(name, now()),
  };
}

const isOperation = (what: Announcement): what is OperationName => what.includes('.');
