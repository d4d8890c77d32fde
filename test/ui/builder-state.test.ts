import { describe, expect, test } from 'bun:test';
import { AppError } from '#core/errors.ts';
import type { Call } from '#ui/src/api.ts';
import { createBulk, type Entity } from '#ui/src/features/builder/definitions/bulk.ts';
import { changedFields, namesOfStatement, uriVariables } from '#ui/src/features/builder/drafts.ts';
import { asArgument, asParameter, messagesOf, withMessages } from '#ui/src/features/builder/messages.ts';
import { createLiveCheck, createRunner } from '#ui/src/features/run/runner.ts';
import type { Timers } from '#ui/src/kernel/data/query.ts';

/** Timers that run when told to. */
function handTimers() {
  const waiting = new Map<number, () => void>();
  let last = 0;
  const timers: Timers = {
    set(run) {
      last += 1;
      waiting.set(last, run);
      return last;
    },
    clear: (timer) => void waiting.delete(timer as number),
  };
  const elapse = async () => {
    const due = [...waiting.values()];
    waiting.clear();
    for (const run of due) run();
    await Promise.resolve();
  };
  return { timers, elapse, waiting };
}

describe('what is asked while somebody writes', () => {
  test('is asked once for many changes, and an older answer is dropped', async () => {
    const { timers, elapse, waiting } = handTimers();
    const answers: PromiseWithResolvers<string>[] = [];
    const signals: AbortSignal[] = [];
    const check = createLiveCheck((signal) => {
      const answer = Promise.withResolvers<string>();
      answers.push(answer);
      signals.push(signal);
      return answer.promise;
    }, timers);
    check.touch();
    check.touch();
    expect([waiting.size, answers.length]).toEqual([1, 0]);
    await elapse();
    check.touch();
    await elapse();
    expect(signals.map(({ aborted }) => aborted)).toEqual([true, false]);
    answers[1]?.resolve('new');
    answers[0]?.resolve('old');
    await Promise.all(answers.map(({ promise }) => promise));
    await Promise.resolve();
    expect([check.data(), check.pending()]).toEqual(['new', false]);
    check.touch();
    check.stop();
    expect(waiting.size).toBe(0);
  });
});

describe('who saves while something is asked', () => {
  const asking = () => {
    const clock = handTimers();
    const answers: PromiseWithResolvers<string>[] = [];
    const check = createLiveCheck(() => {
      const answer = Promise.withResolvers<string>();
      answers.push(answer);
      return answer.promise;
    }, clock.timers);
    return { ...clock, answers, check };
  };

  test('has the answer first, and asks at once what waited for a pause', async () => {
    const { answers, check, waiting } = asking();
    await check.settle();
    check.touch();
    const settled = check.settle();
    answers[0]?.resolve('integer');
    await settled;
    expect([check.data(), waiting.size, answers.length]).toEqual(['integer', 0, 1]);
  });

  test('waits for no answer that takes too long', async () => {
    const { answers, check, elapse } = asking();
    check.touch();
    const settled = check.settle();
    await elapse();
    await settled;
    expect([check.data(), answers.length]).toEqual([undefined, 1]);
  });
});

describe('what is run by hand', () => {
  test('keeps its result until the next one fails, and can be given up', async () => {
    const signals: AbortSignal[] = [];
    const runner = createRunner(async (input: number, signal) => {
      signals.push(signal);
      if (input < 0) throw new AppError('sql_error', 'No such column', { position: 3 });
      if (input > 9) await new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason as Error)));
      return input * 2;
    });
    await runner.run(2);
    expect([runner.result(), runner.problem(), runner.busy()]).toEqual([4, undefined, false]);
    await runner.run(-1);
    expect([runner.result(), runner.problem()]).toEqual([
      undefined,
      { code: 'sql_error', detail: 'No such column.', errors: [], position: 3 },
    ]);
    const endless = runner.run(10);
    expect(runner.busy()).toBe(true);
    runner.cancel();
    await endless;
    expect([signals.at(-1)?.aborted, runner.busy(), runner.problem()?.code]).toEqual([true, false, 'sql_error']);
  });
});

/** Records as a server keeps them: a stale version is refused. */
function keeper(entities: readonly Entity[]) {
  const stored = new Map(entities.map((entity) => [entity.id, { ...entity }]));
  const gone = new Map<string, Entity>();
  const requests: string[] = [];
  const call = (async (name: string, input: Record<string, unknown>) => {
    requests.push(name);
    if (name === 'definitions.update') {
      const changes = input['items'] as readonly Entity[];
      const stale = changes.filter(({ id, version }: Entity) => stored.get(id)?.version !== version);
      const items = changes
        .filter((change) => !stale.includes(change))
        .map(({ version, ...change }) => {
          const after = { ...(stored.get(change.id) as Entity), ...change, version: version + 1 };
          stored.set(change.id, after);
          return { id: change.id, version: after.version };
        });
      return { items, errors: stale.map(({ id }) => ({ id, error: 'Somebody was first.' })) };
    }
    const id = String(input['id'] ?? input['entity_id'] ?? input['history_id']);
    const entity = stored.get(id);
    const newest = { id, action: 'delete', actor: { name: 'eva' }, entity_name: id, version_after: entity?.version ?? null };
    if (name === 'history.list') return { items: [newest], total: 1 };
    if (name === 'history.rollback') return void stored.set(id, gone.get(id) as Entity);
    if (entity === undefined) throw new AppError('not_found', 'It is gone');
    if (input['version'] !== entity.version) throw new AppError('conflict', 'Somebody was first');
    if (name === 'tools.delete') {
      gone.set(id, entity);
      stored.delete(id);
      return {};
    }
    throw new Error(`Not expected: ${name}`);
  }) as unknown as Call;
  return { stored, call, requests };
}

const entity = (id: string, over: Partial<Entity> = {}): Entity => ({
  id,
  name: id,
  title: null,
  description: '',
  enabled: true,
  tags: [],
  version: 1,
  updated_at: '2026-01-01T00:00:00.000Z',
  connection_id: null,
  connection_name: null,
  ...over,
});

describe('changes of several', () => {
  test('of 1,200 are three requests, and as many to take them back', async () => {
    const all = Array.from({ length: 1_200 }, (_, n) => entity(`t${n}`));
    const { call, requests } = keeper(all);
    const { done, undo } = await createBulk(call, 'tools').setEnabled(all, false);
    expect([done.length, requests.length]).toEqual([1_200, 3]);
    expect([(await undo?.())?.done.length, requests.length]).toEqual([1_200, 6]);
  });

  test('leave out what is as wanted, and are taken back', async () => {
    const all = [entity('a'), entity('b', { enabled: false }), entity('c', { version: 4 })];
    const { stored, call } = keeper(all);
    const bulk = createBulk(call, 'tools');
    const { done, failed, undo } = await bulk.setEnabled(all, false);
    expect([[...done].sort(), failed]).toEqual([['a', 'c'], 0]);
    expect([...stored.values()].map(({ enabled }) => enabled)).toEqual([false, false, false]);
    await undo?.();
    expect([...stored.values()].map(({ enabled, version }) => [enabled, version])).toEqual([
      [true, 3],
      [false, 1],
      [true, 6],
    ]);
  });

  test('tell how many failed, and undo only the others', async () => {
    const all = [entity('a', { tags: ['x'] }), entity('b', { version: 1 })];
    const { stored, call } = keeper([all[0] as Entity, entity('b', { version: 2 })]);
    const bulk = createBulk(call, 'tools');
    const added = await bulk.addTags(all, ['x', 'y']);
    expect([added.done, added.failed, added.detail]).toEqual([['a'], 1, 'Somebody was first.']);
    expect(stored.get('a')?.tags).toEqual(['x', 'y']);
    await added.undo?.();
    expect(stored.get('a')?.tags).toEqual(['x']);
    const none = await bulk.removeTags(all, ['unknown']);
    expect(none).toEqual({ done: [], failed: 0, detail: undefined });
  });

  test('bring deleted records back from the history', async () => {
    const all = Array.from({ length: 9 }, (_, n) => entity(`t${n}`));
    const { stored, call } = keeper(all);
    const { done, undo } = await createBulk(call, 'tools').remove(all);
    expect([done.length, stored.size]).toEqual([9, 0]);
    expect((await undo?.())?.done.length).toBe(9);
    expect(stored.size).toBe(9);
  });

  test('delete only what nobody changed since, and say why the rest is left', async () => {
    const { stored, call } = keeper([entity('a'), entity('b', { version: 2 })]);
    const { done, failed, detail } = await createBulk(call, 'tools').remove([entity('a'), entity('b')]);
    expect([done, failed]).toEqual([['a'], 1]);
    expect(detail).toBe('Somebody was first.');
    expect([...stored.keys()]).toEqual(['b']);
  });
});

describe('drafts', () => {
  test('only what differs is sent', () => {
    expect(changedFields({ a: 1, b: 2 }, ['b'])).toEqual({ b: 2 });
  });

  test('a name that stands only in optional blocks need not be given', () => {
    const { names, optional } = namesOfStatement('select 1 where a = :a [[ and b = :b ]] [[ and a < :a ]]', 'postgresql');
    expect([names, [...optional]]).toEqual([['a', 'b'], ['b']]);
  });

  test('the variables of an address are found once each', () => {
    expect(uriVariables('shop://{a}/x/{b_1}/{a}?q={2}')).toEqual(['a', 'b_1']);
  });
});

describe('the messages of a prompt', () => {
  test('are one template or a list, whichever is shorter', () => {
    expect(messagesOf({ template: 'Hi', messages: null })).toEqual([{ role: 'user', template: 'Hi' }]);
    expect(withMessages([{ role: 'user', template: 'Hi' }])).toEqual({ template: 'Hi', messages: null });
    const list = [{ role: 'assistant' as const, template: 'Hi' }];
    expect(withMessages(list)).toEqual({ template: null, messages: list });
  });

  test('have arguments that look like parameters in the table', () => {
    const argument = { name: 'a', description: 'A', required: false, enum: ['x'] };
    expect(asArgument(asParameter(argument))).toEqual(argument);
    expect(asArgument({ ...asParameter(argument), enum: [] })).toEqual({ name: 'a', description: 'A', required: false });
  });
});
