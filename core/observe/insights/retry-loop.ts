import { behind, type Found, type InsightRule, times } from './insight.ts';
import type { ObservedCall } from './observed.ts';

/** So many equal failures in a row are no second attempt any more. */
const LEAST = 4;
/** A longer pause is a new attempt of a person. */
const PAUSE_MS = 2 * 60_000;
/** Waiting for a slot and trying again is right, and who cancels has not failed. */
const NO_LOOP = new Set(['queue_full', 'no_free_slot', 'cancelled']);

/** The same caller gets the same sentence again and again: it does not help the model to do better. */
export const retryLoop: InsightRule = {
  name: 'retry-loop',
  find: (_, { failed, usage, by_name }) => {
    const sessions = Map.groupBy(
      failed.filter(
        ({ error, session_id, name }) => error !== null && !NO_LOOP.has(error) && session_id !== null && by_name.has(name),
      ),
      ({ name, session_id, error, error_message }) => `${session_id}\n${name}\n${error}\n${error_message}`,
    );
    const loops = [...sessions.values()].flatMap(runsOf).filter((run) => run.length >= LEAST);
    return [...Map.groupBy(loops, ([call]) => `${call?.name} ${call?.error}`).values()].flatMap((runs): Found[] => {
      const calls = runs.flat();
      const longest = Math.max(...runs.map((run) => run.length));
      const [{ name, error, client } = NOTHING] = calls;
      const tool = by_name.get(name);
      if (tool === undefined) return [];
      const who = client === null || new Set(calls.map((call) => call.client)).size > 1 ? 'Callers' : client;
      const where = runs.length === 1 ? '' : `, in ${runs.length} such loops`;
      return [
        {
          entity: { kind: 'tool', id: tool.id, name },
          about: error ?? '',
          message: `${who} repeated the same failing call of ${name} ${times(longest)} in a row${where} (${error}).`,
          advice:
            'The answer does not tell the model what to change. Read one of the calls, and say in the description what the tool takes or when not to use it.',
          logs: { name, success: 'false' },
          ...behind(calls, calls.length, usage.get(name)?.calls ?? 0),
        },
      ];
    });
  },
};

const NOTHING = { name: '', error: null, client: null };

/** Equal calls of one session, newest first, in runs without a pause. */
function runsOf(calls: readonly ObservedCall[]): ObservedCall[][] {
  const runs: ObservedCall[][] = [];
  let later = Infinity;
  for (const call of calls) {
    const at = Date.parse(call.timestamp);
    const run = runs.at(-1);
    if (run === undefined || later - at > PAUSE_MS) runs.push([call]);
    else run.push(call);
    later = at;
  }
  return runs;
}
