import type { Call } from '#ui/src/api.ts';
import type { TestOwner } from '#core/contract/definitions/tests.ts';
import { type StoredRun, kindOfRun } from '#ui/src/features/run/stored-runs.ts';
import { expectOf, nameFor, type NewTest, wholeOf } from './expectation.ts';

/** A test that expects what a call gave. The deployed name leads to the definition; undefined: it is gone or renamed. */
export async function toTest(call: Call, run: StoredRun): Promise<NewTest | undefined> {
  const { offer, values, result } = run;
  const kind = kindOfRun(run);
  // The record of exactly this name comes first.
  const { items } = await call(`${kind}s`.concat('.list') as 'tools.list', { search: offer.name, limit: 1 });
  const found = items.find(({ name }) => name === offer.name);
  if (found === undefined) return undefined;
  const owner: TestOwner = { kind, id: found.id };
  return { owner, name: nameFor(offer.name, values), arguments: values, ...expectationOf(kind, result) };
}

function expectationOf(kind: TestOwner['kind'], result: StoredRun['result']): Pick<NewTest, 'expect' | 'whole'> {
  if (result === undefined) return {};
  if (result.is_error) return { expect: { error: true } };
  const { json, table, parts, truncated } = result;
  if (kind !== 'prompt' && json !== undefined) {
    if (table === undefined) return { expect: { equals: json } };
    const rows = { ...table, truncated };
    return { expect: expectOf(rows), ...('whole' in wholeOf(rows) ? { whole: json } : {}) };
  }
  const [only, ...more] = parts;
  return only === undefined || more.length > 0 || only.kind !== 'text' ? {} : { expect: { equals: only.data } };
}
