import type { CallContext } from '#mcp-host/call/context.ts';
import type { Admission, Caller } from '#mcp-host/auth/caller.ts';
import type { Members } from '#mcp-host/protocol/messages.ts';
import type { FrozenQuery } from '#core/query/frozen-query.ts';
import type { FrozenServer } from '#snapshots/format/format.ts';

/** A call of a read-only tool, with everything that its result depends on. */
export interface Sample {
  readonly tool: string;
  /** As JSON. */
  readonly arguments: string;
  readonly caller: Caller;
  /** Duration of the client's call, in milliseconds. */
  readonly ms: number;
}

/**
 * The last calls of read-only tools, for replays. They are only in the memory of this host: they are not stored or sent, and are
 * gone when the process ends.
 */
export interface Samples {
  /** Most samples to store; 0: none. */
  limit(): number;
  /** Takes the limit from a configuration. */
  use(server: Pick<FrozenServer, 'replay_samples'> | null): void;
  keep(
    entity: Pick<FrozenQuery, 'mode'> & { readonly name: string },
    args: Members,
    context: Pick<CallContext, 'caller'>,
    ms: number,
  ): void;
  /** Returns the newest samples of each tool in turn, so that a frequent tool does not crowd out the others. */
  newest(count: number): Sample[];
  count(): number;
  /** Removes the samples of callers that are no longer admitted. */
  forget(isGone: (admitted: Admission) => boolean): void;
}

/** For hosts without a server, which receive no replays. */
export const NO_SAMPLES: Pick<Samples, 'keep'> = { keep: () => undefined };

/** Larger arguments are not stored, in characters of JSON. */
const LARGEST = 16_384;

export function createSamples(): Samples {
  let limit = 0;
  /** A ring: the oldest is overwritten. */
  let ring: Sample[] = [];
  let next = 0;
  const inOrder = (): Sample[] => [...ring.slice(next), ...ring.slice(0, next)];
  const hold = (samples: readonly Sample[]): void => {
    ring = samples.slice(Math.max(0, samples.length - limit));
    next = ring.length === limit ? 0 : ring.length;
  };
  return {
    limit: () => limit,
    use(server) {
      const next_limit = server?.replay_samples ?? 0;
      if (next_limit === limit) return;
      const samples = inOrder();
      limit = next_limit;
      hold(samples);
    },
    keep({ name, mode }, args, { caller }, ms) {
      if (limit === 0 || mode === 'write') return;
      const text = JSON.stringify(args);
      if (text.length > LARGEST) return;
      ring[next] = { tool: name, arguments: text, caller, ms };
      next = (next + 1) % limit;
    },
    newest(count) {
      const of_tool = [...Map.groupBy(inOrder().toReversed(), ({ tool }) => tool).values()];
      const chosen: Sample[] = [];
      for (let turn = 0; chosen.length < count; turn++) {
        const round = of_tool.flatMap((list) => list[turn] ?? []);
        if (round.length === 0) break;
        chosen.push(...round);
      }
      return chosen.slice(0, count);
    },
    count: () => ring.length,
    forget(isGone) {
      if (ring.some(({ caller }) => isGone(caller))) hold(inOrder().filter(({ caller }) => !isGone(caller)));
    },
  };
}
