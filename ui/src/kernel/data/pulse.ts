import { untrack } from 'solid-js';
import type { OperationName } from '#core/contract/index.ts';
import { parseJson } from '#ui/src/kernel/json.ts';
import { affectedBy } from './affected.ts';
import { createLiveStream, type StreamSocket } from './live-stream.ts';
import type { Timers } from './query.ts';
import type { Line } from './session-gate.ts';

/** What the server says has changed, so that a page which shows it asks again, and one at rest asks nothing. */
export interface Pulse {
  readonly line: Line;
  /** Whether an answer of one of these nouns may be old that was asked for at `since`; always while nobody says what changes. */
  readonly isOld: (nouns: readonly string[], since: number) => boolean;
}

const CHANGES_PATH = '/api/v1/changes';
/** What moves with the clock, such as the metrics of a period, is read again after so long; and what was announced to nobody. */
const LONGEST_MS = 60_000;
/** Nouns by what happens without an operation. */
const HAPPENINGS: Readonly<Record<string, readonly string[]>> = {
  calls: ['calls', 'logs', 'metrics', 'mcp_sessions', 'insights', 'flow', 'queue', 'deploy'],
  queue: ['queue', 'calls'],
  hosts: ['deploy', 'server', 'flow', 'queue', 'snapshots', 'candidates'],
  canary: ['deploy', 'snapshots', 'candidates'],
  notices: ['notices'],
  oauth_attempts: ['oauth_attempts', 'grants', 'oauth_clients'],
  agent_activity: ['agent_activity'],
  ssl: ['ssl', 'server'],
};

interface PulseOptions {
  /** Such as `wss://example.com`. */
  readonly origin: string;
  readonly onSessionEnd: () => void;
  readonly now?: () => number;
  readonly timers?: Timers;
  readonly connect?: (url: string) => StreamSocket;
  /** A line lives on for a while without its network. */
  readonly online?: () => boolean;
}

export function createPulse(options: PulseOptions): Pulse {
  const { origin, onSessionEnd, now = () => performance.now(), online = () => navigator.onLine, ...more } = options;
  const changed = new Map<string, number>();
  /** Before that anything may have changed. */
  let known_since = Number.POSITIVE_INFINITY;
  const take = (text: string) => {
    const { began, changed: list = [] } = (parseJson(text) ?? {}) as { began?: true; changed?: readonly string[] };
    if (began) known_since = now();
    for (const what of list) {
      const nouns = HAPPENINGS[what] ?? affectedBy(what as OperationName, 'POST', {});
      if (nouns === undefined) known_since = now();
      else for (const noun of nouns) changed.set(noun, now());
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
    isOld: (nouns, since) =>
      !online() ||
      untrack(stream.state) !== 'open' ||
      since <= known_since ||
      now() - since > LONGEST_MS ||
      nouns.some((noun) => since <= (changed.get(noun) ?? Number.NEGATIVE_INFINITY)),
  };
}
