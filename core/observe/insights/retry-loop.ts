import { type CallOutcome, outcomeOf } from '#core/contract/observe/outcomes.ts';
import { behind, type InsightDraft, type InsightRule, times } from './insight.ts';
import type { ObservedCall } from './observed.ts';

/** This many identical failures in a row are more than a second attempt. */
const LEAST = 4;
/** After a longer pause, a person has started a new attempt. */
const PAUSE_MS = 2 * 60_000;
/** Retrying is correct when there is no slot, and a cancelled call has not failed. */
const NO_LOOP = new Set(['queue_full', 'no_free_slot', 'cancelled']);

/** A caller gets the same error again and again: the message does not help the model. */
export const retryLoop: InsightRule = {
  name: 'retry-loop',
  passes: true,
  find: (_, { failed, usage, by_name }) => {
    const sessions = Map.groupBy(
      failed.filter(
        ({ error, session_id, name }) => error !== null && !NO_LOOP.has(error) && session_id !== null && by_name.has(name),
      ),
      ({ name, session_id, error, error_message }) => `${session_id}\n${name}\n${error}\n${error_message}`,
    );
    const loops = [...sessions.values()].flatMap(runsOf).filter((run) => run.length >= LEAST);
    return [...Map.groupBy(loops, ([call]) => `${call?.name} ${call?.error}`).values()].flatMap((runs): InsightDraft[] => {
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
          advice: adviceFor(error),
          logs: { name, outcome: outcomeOf(error) },
          ...behind(calls, calls.length, usage.get(name)?.calls ?? 0),
        },
      ];
    });
  },
};

const OTHER =
  'The answer does not tell the model what to change. Read one of the calls, and say in the description what the tool takes or when not to use it.';
const NOT_OF_THE_CALL = 'Nothing in the call is at fault. Test the connection, and read the log of the host.';
/** For outcomes whose message already says what the caller can do. */
const ADVICE: Partial<Readonly<Record<CallOutcome, string>>> = {
  rate_limited:
    'The answer says when to try again, and the caller does not wait. Raise the rate limit if these calls are right, or let the client wait.',
  timeout:
    'The statement takes too long for its timeout, however often it is called. Make it faster, raise the timeout, or ask for a narrower call in the description.',
  refused:
    'The caller lacks a right or a confirmation, and the answer says which. Grant it, or take the tool out of what this caller sees.',
};
const BY_CODE: Readonly<Record<string, string>> = {
  sql_error:
    'The database rejects the statement, and the model cannot change it. Read one of the calls, correct the statement and deploy.',
  database_unreachable: NOT_OF_THE_CALL,
  tunnel_unreachable: NOT_OF_THE_CALL,
  tunnel_refused: NOT_OF_THE_CALL,
  tunnel_host_key: NOT_OF_THE_CALL,
  unavailable: NOT_OF_THE_CALL,
  internal: NOT_OF_THE_CALL,
  secrets_unavailable: NOT_OF_THE_CALL,
  private_network_blocked: NOT_OF_THE_CALL,
};

function adviceFor(error: string | null): string {
  return BY_CODE[error ?? ''] ?? ADVICE[outcomeOf(error)] ?? OTHER;
}

const NOTHING = { name: '', error: null, client: null };

/** Identical calls of one session, newest first, in runs without a pause. */
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
