import type { HostReplay, ReplaySample } from '#core/contract/deploy/replay.ts';
import type { ReplayEnd, ReplayRequest } from '#core/contract/deploy/control.ts';
import { dialectNamed } from '#core/engines/index.ts';
import { Stop } from '#core/engines/shared/stop.ts';
import { AppError } from '#core/errors.ts';
import { isOrdered } from '#core/lib/sql/statement-tokens.ts';
import type { Log } from '#core/process/log.ts';
import type { Rights } from '#mcp-host/auth/rights.ts';
import { WHOLE } from '#core/edge/mcp-endpoint.ts';
import type { Registry, ToolEntry } from '#mcp-host/registry/registry.ts';
import type { Views } from '#mcp-host/registry/views.ts';
import { type Answer, compare, unsteady } from './compare.ts';
import { createSide, type Ran, type Side, type SideOptions } from './side.ts';
import type { Sample, Samples } from '#mcp-host/call/samples.ts';

export interface ReplayOptions extends SideOptions {
  readonly samples: Samples;
  readonly views: Views;
  readonly live: () => Registry | null;
  /** The registry of a candidate or a stored version, on the pools of the live one. */
  readonly borrow: (name: string) => Promise<Registry>;
  /** What a caller may see now; null: it is no longer admitted. */
  readonly rights: (sample: Sample, live: Registry) => Rights | null;
  /** Sends the result to the server that requested the replay. */
  readonly post: (answer: HostReplay) => Promise<void>;
  readonly log: Log;
}

/** Repeats calls of clients on two versions, one replay after the other. */
export interface Replays {
  /** Starts a replay in the background, or cancels it. */
  take(request: ReplayRequest | ReplayEnd): void;
}

/** Calls that run at once; few, so that slots stay free for calls of clients. */
const AT_ONCE = 2;
/** Most samples that one host reports, and most of one tool. */
const MOST_SAMPLES = 40;
const MOST_SAMPLES_OF_TOOL = 8;
/** Another version is slower if it takes this many times as long, and this many ms longer. */
const SLOWER = { times: 2, ms: 25 };

export function createReplays(options: ReplayOptions): Replays {
  const { samples, live, borrow, post, log } = options;
  const stops = new Map<string, Stop>();
  let working: Promise<unknown> = Promise.resolve();

  const replay = async (request: ReplayRequest, stop: Stop): Promise<HostReplay> => {
    const tally = createTally(request);
    const registry = live();
    const chosen = registry === null ? [] : samples.newest(request.calls);
    if (registry === null || chosen.length === 0) return tally.answer(null);
    const other = await borrow(request.name);
    const sides = { live: createSide(registry, options), other: createSide(other, options) };
    const timer = setTimeout(() => stop.abort(new AppError('timeout', 'The replay reached its time limit.')), request.time_ms);
    const left = [...chosen];
    const worker = async (): Promise<void> => {
      for (let sample = left.shift(); sample !== undefined; sample = left.shift()) {
        await replayOne(sample, sides, registry, other, options, request.values, stop, tally);
      }
    };
    try {
      await Promise.all(Array.from({ length: AT_ONCE }, worker));
    } finally {
      clearTimeout(timer);
      for (const side of Object.values(sides)) side.close();
    }
    // The log gets numbers only, no tools or arguments.
    log.info('replayed', { against: request.name, ...tally.counts() });
    return tally.answer(null);
  };

  const run = async (request: ReplayRequest, stop: Stop): Promise<void> => {
    const { request_id, name } = request;
    const answer = await replay(request, stop).catch((error: unknown): HostReplay => {
      log.warning('replay_failed', { against: name, error: error instanceof Error ? error.name : 'error' });
      const reason = error instanceof AppError ? error.detail : 'The host could not load the version to compare with.';
      return createTally(request).answer(reason);
    });
    stops.delete(request_id);
    await post(answer).catch((error: unknown) => log.warning('replay_not_sent', { error: String(error) }));
  };

  return {
    take(request) {
      if ('cancelled' in request) {
        stops.get(request.request_id)?.abort(new AppError('cancelled', 'The replay was cancelled.'));
        return;
      }
      const stop = new Stop();
      stops.set(request.request_id, stop);
      working = working.then(() => run(request, stop));
    },
  };
}

interface Tally {
  add(of: 'same' | ReplaySample['outcome'], slower: boolean, sample: ReplaySample | null): void;
  note(sentence: string): void;
  counts(): Pick<HostReplay, 'calls' | 'same' | 'changed' | 'failed' | 'slower' | 'skipped'>;
  answer(error: string | null): HostReplay;
}

/** @param values whether a person requested the replay; others get no notes, which reveal facts about the rows. */
function createTally({ request_id, values }: Pick<ReplayRequest, 'request_id' | 'values'>): Tally {
  const counts = { calls: 0, same: 0, changed: 0, failed: 0, slower: 0, skipped: 0 };
  const samples: ReplaySample[] = [];
  const notes = new Set<string>();
  const seen = new Set<string>();
  return {
    add(of, slower, sample) {
      if (of !== 'skipped') counts.calls++;
      if (of !== 'slower') counts[of]++;
      if (slower) counts.slower++;
      if (sample === null || samples.length >= MOST_SAMPLES) return;
      // An equal sample adds nothing.
      const { outcome, difference, rows } = sample;
      const mark = JSON.stringify([sample.tool, outcome, difference, rows]);
      if (seen.has(mark)) return;
      seen.add(mark);
      if (samples.filter(({ tool }) => tool === sample.tool).length < MOST_SAMPLES_OF_TOOL) samples.push(sample);
    },
    note: (sentence) => void (values && notes.size < MOST_SAMPLES && notes.add(sentence)),
    counts: () => ({ ...counts }),
    answer: (error) => ({ request_id, ...counts, samples, notes: [...notes], error }),
  };
}

async function replayOne(
  sample: Sample,
  sides: { readonly live: Side; readonly other: Side },
  live: Registry,
  other: Registry,
  { views, rights }: ReplayOptions,
  values: boolean,
  stop: Stop,
  tally: Tally,
): Promise<void> {
  const { tool } = sample;
  const skip = (difference: string) =>
    tally.add('skipped', false, { tool, outcome: 'skipped', difference, live_ms: null, ms: null, rows: null });
  if (stop.aborted) return skip('There was no time for it.');
  const seen = rights(sample, live);
  // Samples of callers that are no longer admitted are left out.
  if (seen === null) return;
  const entryIn = (registry: Registry): ToolEntry | undefined =>
    views.of(registry, { rights: seen, endpoint: WHOLE })?.tools.get(tool);
  const [was, is] = [entryIn(live), entryIn(other)];
  if (was === undefined || was.entity.mode === 'write') return;
  if (is !== undefined && is.entity.passthrough !== was.entity.passthrough)
    return skip('It runs another kind of statement there.');
  if (is?.entity.mode === 'write') return skip('The tool writes in the other version, so it was not run.');
  const before = await sides.live.run(was, sample, stop);
  if (before.kind === 'skipped') return skip(before.sentence);
  const after: Ran = is === undefined ? GONE : await sides.other.run(is, sample, stop);
  if (after.kind === 'skipped') return skip(after.sentence);
  const live_ms = before.answer?.ms ?? null;
  const ms = after.answer?.ms ?? null;
  // Counts and times would reveal facts about another caller's rows, too.
  const sampleOf = (outcome: ReplaySample['outcome'], difference: string, rows: ReplaySample['rows'] = null): ReplaySample =>
    values
      ? { tool, outcome, difference, live_ms, ms, rows }
      : { tool, outcome, difference: UNSEEN[outcome], live_ms: null, ms: null, rows: null };
  if (after.kind === 'failed') {
    if (before.kind === 'failed' && before.code === after.code) return tally.add('same', false, null);
    const text = values && after.detail !== null ? `${after.sentence} ${after.detail}` : after.sentence;
    return tally.add('failed', false, sampleOf('failed', text));
  }
  if (before.kind === 'failed') {
    return tally.add('changed', false, sampleOf('changed', 'The call fails in the live version and succeeds in the other one.'));
  }
  const again = { was, is: is ?? was, sample, stop };
  const slower = await isStillSlower(sides, again, before.answer.ms, after.answer.ms);
  const found = await differenceOf(before.answer, after.answer, sides.live, again, tally);
  if (found !== null) return tally.add('changed', slower, sampleOf('changed', found.sentence, [...found.pairs]));
  if (!slower) return tally.add('same', false, null);
  const sentence = `It takes ${Math.round(after.answer.ms)} ms instead of ${Math.round(before.answer.ms)} ms.`;
  tally.add('same', true, sampleOf('slower', sentence));
}

/** The sentences about a difference for requests with a token. */
const UNSEEN: Readonly<Record<ReplaySample['outcome'], string>> = {
  changed: 'The answer differs. Only signed-in people can see how.',
  failed: 'The call fails in the other version. Only signed-in people can see why.',
  slower: 'The call takes longer in the other version.',
  skipped: 'It was not compared.',
};

const GONE: Ran = { kind: 'failed', code: 'gone', sentence: 'The tool is not there for its caller.', detail: null, answer: null };

const isSlower = (live_ms: number, ms: number): boolean => ms >= live_ms * SLOWER.times && ms - live_ms >= SLOWER.ms;

interface Again {
  readonly was: ToolEntry;
  readonly is: ToolEntry;
  readonly sample: Sample;
  readonly stop: Stop;
}

/** Further runs of both versions. The fastest run counts, because a slow one may be chance. */
const RUNS_AGAIN = 3;

/** A slow statement delays the live version that runs beside it, so the duration of the client's call is compared as well. */
async function isStillSlower(
  sides: { readonly live: Side; readonly other: Side },
  { was, is, sample, stop }: Again,
  live_ms: number,
  ms: number,
): Promise<boolean> {
  let [quickest_live, quickest] = [live_ms, ms];
  for (let n = 0; n < RUNS_AGAIN && isSlower(Math.min(quickest_live, sample.ms), quickest); n++) {
    const other = await sides.other.run(is, sample, stop);
    const live = await sides.live.run(was, sample, stop);
    if (live.kind !== 'ran' || other.kind !== 'ran') return false;
    quickest_live = Math.min(quickest_live, live.answer.ms);
    quickest = Math.min(quickest, other.answer.ms);
  }
  return isSlower(quickest_live, quickest);
}

async function differenceOf(live: Answer, other: Answer, side: Side, { was, sample, stop }: Again, tally: Tally) {
  const { entity } = was;
  const ordered = isOrdered(entity.statement, dialectNamed(entity.statement.dialect));
  const first = compare(live, other, ordered);
  if (first.reordered) {
    tally.note(`The order of the rows of ${entity.name} was not compared, because its statement has no ORDER BY.`);
  }
  if (live.truncated && !ordered) {
    tally.note(`${entity.name} has more rows than its row limit and no ORDER BY: which of them it returns is arbitrary.`);
  }
  if (first.difference === null) return null;
  // Columns that differ between two runs of the live version are not compared.
  const second = await side.run(was, sample, stop);
  if (second.kind !== 'ran') return first.difference;
  const ignored = unsteady(live, second.answer);
  if (ignored.size === 0) return first.difference;
  const names = [...ignored].join(', ');
  tally.note(`${entity.name} returns other values in ${names} each time it runs, so they were not compared.`);
  return compare(live, other, ordered, ignored).difference;
}
