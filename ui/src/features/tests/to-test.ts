import type { Call } from '#ui/src/api.ts';
import type { Expect, TestOwner } from '#core/contract/definitions/tests.ts';
import { type KeptRun, kindOfRun } from '#ui/src/features/run/kept-runs.ts';
import { expectOf, nameFor, type NewTest } from './kept.ts';

/** A test that expects what a call gave. The deployed name leads to the definition; undefined: it is gone or renamed. */
export async function toTest(call: Call, run: KeptRun): Promise<NewTest | undefined> {
  const { offer, values, result } = run;
  const kind = kindOfRun(run);
  // The record of exactly this name comes first.
  const { items } = await call(`${kind}s`.concat('.list') as 'tools.list', { search: offer.name, limit: 1 });
  const found = items.find(({ name }) => name === offer.name);
  if (found === undefined) return undefined;
  const owner: TestOwner = { kind, id: found.id };
  return { owner, name: nameFor(offer.name, values), arguments: values, expect: expectedOf(kind, result) };
}

function expectedOf(kind: TestOwner['kind'], result: KeptRun['result']): Expect {
  if (result === undefined) return {};
  if (result.is_error) return { error: true };
  const { json, table, parts, truncated } = result;
  if (kind !== 'prompt' && json !== undefined) {
    const expected = table === undefined ? { equals: json } : expectOf({ ...table, truncated });
    return 'equals' in expected ? { equals: json } : expected;
  }
  const [only, ...more] = parts;
  return only === undefined || more.length > 0 || only.kind !== 'text' ? {} : { equals: only.data };
}
