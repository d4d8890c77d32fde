import type { Call } from '#ui/src/api.ts';
import type { Output } from '#core/contract/index.ts';
import type { CalledTool } from '#ui/src/features/run/call-once.ts';
import { type StoredRun, storedRuns, kindOfRun } from '#ui/src/features/run/stored-runs.ts';
import { allArguments } from '#ui/src/features/run/logged-arguments.ts';
import { CLIENT } from '#ui/src/features/run/mcp-client.ts';
import { nameFor, type NewTest } from '#ui/src/features/tests/expectation.ts';
import { toTest } from '#ui/src/features/tests/to-test.ts';
import type { CallEntry } from './download.ts';

/**
 * A test from a logged call: with its arguments, if they were logged or the call ran in this tab, and with a result if this tab has it.
 * Unknown parts stay empty.
 */
export async function testOfCall(
  call: Call,
  entry: Output<'logs.get'>,
  id: string,
  again: CalledTool | undefined,
): Promise<NewTest> {
  const { kind, name } = entry;
  const run = again === undefined ? await runOf(call, entry) : { ...again, offer: { noun: 'tool', name } as const };
  const known = run === undefined ? undefined : await toTest(call, run);
  const sent = allArguments(entry);
  const unknown = sent === undefined ? { arguments_unknown: true } : {};
  return known ?? { owner: { kind, id }, name: nameFor(name, sent ?? {}), arguments: sent ?? {}, ...unknown };
}

const isOfPlayground = ({ client }: CallEntry): boolean => client?.startsWith(CLIENT.name) === true;

/** The run of this tab that matches the log entry. Concurrent calls of the same name are ambiguous and match nothing. */
async function runOf(call: Call, entry: CallEntry): Promise<StoredRun | undefined> {
  if (!isOfPlayground(entry)) return undefined;
  const { kind, name } = entry;
  const at = Date.parse(entry.timestamp);
  const runs = storedRuns().filter((run) => {
    const [from, until] = periodOf(run);
    return kindOfRun(run) === kind && run.offer.name === name && from <= at && at <= until;
  });
  const [run, ...more] = runs;
  if (run === undefined || more.length > 0) return undefined;
  const [since, until] = periodOf(run).map((ms) => new Date(ms).toISOString());
  const { items } = await call('logs.list', { kind, name, since, until, limit: 100 });
  const alike = items.filter(isOfPlayground);
  return alike.length === 1 && alike[0]?.id === entry.id ? run : undefined;
}

/** From sending to the answer; the log has whole milliseconds, and `until` is exclusive. */
function periodOf({ at, ms }: StoredRun): [number, number] {
  const sent = Date.parse(at);
  return [sent, sent + Math.ceil(ms) + 1];
}
