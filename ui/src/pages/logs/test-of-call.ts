import type { Call } from '#ui/src/api.ts';
import type { Output } from '#core/contract/index.ts';
import type { CalledTool } from '#ui/src/features/run/call-once.ts';
import { type KeptRun, keptRuns, kindOfRun } from '#ui/src/features/run/kept-runs.ts';
import { allArguments } from '#ui/src/features/run/logged-arguments.ts';
import { CLIENT } from '#ui/src/features/run/mcp-client.ts';
import { nameFor, type NewTest } from '#ui/src/features/tests/kept.ts';
import { toTest } from '#ui/src/features/tests/to-test.ts';
import type { CallEntry } from './download.ts';

/**
 * A test of what was called: with the arguments that it sent, if they were logged or this tab made the call, and with a result if
 * this tab has seen one. What is not known stays open.
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

/** The call of this tab that the entry is about. Two calls of a name at the same time cannot be told apart: then there is none. */
async function runOf(call: Call, entry: CallEntry): Promise<KeptRun | undefined> {
  if (!isOfPlayground(entry)) return undefined;
  const { kind, name } = entry;
  const at = Date.parse(entry.timestamp);
  const runs = keptRuns().filter((run) => {
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

/** From sending to the answer; the log has whole milliseconds, and `until` leaves out the last one. */
function periodOf({ at, ms }: KeptRun): [number, number] {
  const sent = Date.parse(at);
  return [sent, sent + Math.ceil(ms) + 1];
}
