import { describe, expect, test } from 'bun:test';
import { createDialogs } from '#ui/src/kernel/dialogs.ts';
import { rank, score } from '#ui/src/kernel/fuzzy.ts';
import { diffLines, foldSame } from '#core/lib/text/line-diff.ts';
import { createLiveStream, type StreamSocket } from '#ui/src/kernel/data/live-stream.ts';
import { compareThree, isDecided, mergeThree, same } from '#ui/src/kernel/form/merge.ts';
import { createMutation } from '#ui/src/kernel/data/mutation.ts';
import { allOf } from '#ui/src/kernel/data/all-of.ts';
import { createPages } from '#ui/src/kernel/data/pages.ts';
import { count, percent } from '#ui/src/kernel/numbers.ts';
import { choice, createSearchParams, flag, many, oneOf, text, whole } from '#ui/src/kernel/route/search-params.ts';
import { createSelection } from '#ui/src/kernel/selection.ts';
import { nextRow, nextSort, sortRows } from '#ui/src/components/table/table.ts';
import { bytes } from '#ui/src/kernel/words.ts';

/** Of a line that is dead. */
const SILENT_MS = 60_000;

describe('three versions of one record', () => {
  const base = { name: 'a', sql: 'select 1', tags: ['x'], limit: 5 };

  test('only what both changed differently is contested', () => {
    const fields = compareThree({
      base,
      mine: { ...base, name: 'mine', sql: 'select 2', limit: 6 },
      theirs: { ...base, name: 'theirs', tags: ['y'], limit: 6 },
    });
    expect(fields.map(({ name, contested, take }) => [name, contested, take])).toEqual([
      ['name', true, 'mine'],
      ['sql', false, 'mine'],
      ['tags', false, 'theirs'],
      ['limit', false, 'mine'],
    ]);
  });

  test('the merged record holds the change of each side, and the chosen one where both changed', () => {
    const input = { base, mine: { ...base, name: 'mine', sql: 'select 2' }, theirs: { ...base, name: 'theirs', tags: ['y'] } };
    expect(mergeThree(input)).toEqual({ name: 'mine', sql: 'select 2', tags: ['y'], limit: 5 });
    expect(mergeThree(input, { name: 'theirs' })).toMatchObject({ name: 'theirs', sql: 'select 2' });
  });

  test('a conflict needs no decision when their changes are mine as well, as after a lost answer of a save', () => {
    const mine = { ...base, name: 'mine', tags: ['y'] };
    expect(isDecided({ base, mine, theirs: mine })).toBe(true);
    expect(isDecided({ base, mine, theirs: { ...base, name: 'mine' } })).toBe(true);
    expect(isDecided({ base, mine, theirs: { ...base, limit: 6 } })).toBe(false);
    expect(isDecided({ base, mine, theirs: { ...base, name: 'theirs' } })).toBe(false);
  });

  test('a list keeps the entries of both by their names, unless both changed the same one or its order', () => {
    const entry = (name: string, value = 0) => ({ name, value });
    const of = (mine: unknown[], theirs: unknown[], began: unknown[] = [entry('a'), entry('b')]) => {
      const input = { base: { rows: began }, mine: { rows: mine }, theirs: { rows: theirs } };
      const [found] = compareThree(input);
      return found?.contested === true ? 'contested' : mergeThree(input)['rows'];
    };
    const [a, b, c, d] = [entry('a'), entry('b'), entry('c'), entry('d')];
    expect(of([a, b, c], [a, entry('b', 1), d])).toEqual([a, entry('b', 1), d, c]);
    expect(of([b], [a, b, d])).toEqual([b, d]);
    expect(of([b, a, c], [a, entry('b', 1)])).toEqual([entry('b', 1), a, c]);
    expect(of(['x', 'y'], ['x', 'z'], ['x'])).toEqual(['x', 'z', 'y']);
    expect(of([a, entry('b', 1)], [a, entry('b', 2)])).toBe('contested');
    expect(of([a], [a, entry('b', 2)])).toBe('contested');
    expect(of([b, a, c], [a, c, b], [a, b, c])).toBe('contested');
    expect(of([a, entry('', 1), entry('', 2)], [b])).toBe('contested');
    // Everything of theirs is in mine: nothing is asked.
    const mine = { rows: [a, b, c, d] };
    expect(isDecided({ base: { rows: [a, b] }, mine, theirs: { rows: [a, b, c] } })).toBe(true);
  });

  test('the order of keys and missing ones do not make a difference', () => {
    expect(same({ a: 1, b: [1, { c: null }] }, { b: [1, { c: null }], a: 1, d: undefined })).toBe(true);
    expect(same([1, 2], [2, 1])).toBe(false);
    expect(same({}, [])).toBe(false);
  });
});

describe('filters in the address', () => {
  const params = {
    q: text(),
    state: choice(['on', 'off']),
    tags: many(),
    page: whole(1),
    read: flag(),
    span: oneOf(['1h', '7d']),
  };
  function at(search: string) {
    let query = new URLSearchParams(search);
    const router = {
      query: () => query,
      hrefWith: (values: Readonly<Record<string, string>>) => `?${new URLSearchParams([...query, ...Object.entries(values)])}`,
      setQuery(values: Readonly<Record<string, string>>) {
        query = new URLSearchParams([...query, ...Object.entries(values)]);
        for (const [name, value] of Object.entries(values)) if (value === '') query.delete(name);
      },
    };
    return { filters: createSearchParams(router, params), search: () => query.toString() };
  }

  test('are read with their types, and what cannot be read counts as not given', () => {
    const { filters } = at('q=a+b&state=on&tags=x,a%252Cb&page=3&read=no&span=2y');
    expect([filters.get('q'), filters.get('state'), filters.get('page'), filters.get('read')]).toEqual(['a b', 'on', 3, false]);
    expect([...filters.get('tags')]).toEqual(['x', 'a,b']);
    expect([filters.get('span'), at('state=x&page=-1').filters.get('page')]).toEqual(['1h', 1]);
    expect(filters.active()).toBe(5);
    expect(filters.active('span', 'q')).toBe(1);
  });

  test('are written without what stands for nothing', () => {
    const { filters, search } = at('');
    filters.set({ tags: ['a,b', 'c'], page: 1, read: true, span: '7d' });
    expect(search()).toBe('tags=a%252Cb%2Cc&read=yes&span=7d');
    expect([...filters.get('tags')]).toEqual(['a,b', 'c']);
    expect(filters.href({ q: 'x', page: 2 })).toEndWith('&q=x&page=2');
    filters.clear('tags');
    expect(search()).toBe('read=yes&span=7d');
    filters.clear();
    expect([search(), filters.active()]).toEqual(['', 0]);
  });
});

test('rows are sorted by numbers in texts, missing ones last in both directions', () => {
  const rows = [{ name: 'b10' }, { name: 'B9' }, { name: '' }, { name: 'a' }];
  expect(sortRows(rows, ({ name }) => name, false).map(({ name }) => name)).toEqual(['a', 'B9', 'b10', '']);
  expect(sortRows(rows, ({ name }) => name, true).map(({ name }) => name)).toEqual(['b10', 'B9', 'a', '']);
  expect([
    nextSort(undefined, 'a'),
    nextSort({ column: 'a', down: false }, 'a'),
    nextSort({ column: 'a', down: true }, 'a'),
  ]).toEqual([{ column: 'a', down: false }, { column: 'a', down: true }, undefined]);
  expect([nextRow('ArrowUp', 0, 3), nextRow('End', 0, 3), nextRow('PageDown', 1, 30), nextRow('x', 0, 3)]).toEqual([
    0,
    2,
    11,
    undefined,
  ]);
});

test('a chosen row stays chosen until it is chosen again or all are cleared', () => {
  const selection = createSelection();
  selection.toggle('a');
  selection.toggle('b');
  selection.toggle('a');
  expect([selection.has('a'), selection.has('b'), selection.count()]).toEqual([false, true, 1]);
  selection.set(['x', 'y']);
  expect([...selection.ids()]).toEqual(['x', 'y']);
  selection.clear();
  expect(selection.count()).toBe(0);
});

test('what is typed finds beginnings of words before parts of them, and letters in order last', () => {
  const titles = ['Log out', 'Go to catalogue', 'Live logs', 'Long list of orders', 'Deploy'];
  expect(rank('log', titles, (title) => title)).toEqual(['Log out', 'Live logs', 'Go to catalogue', 'Long list of orders']);
  expect(rank('out log', titles, (title) => title)).toEqual(['Log out']);
  expect(score('dply', 'Deploy')).toBeGreaterThan(0);
  expect(score('xyz', 'Deploy')).toBe(0);
});

test('two texts become one list of lines, equal ones far from a change are folded', () => {
  const before = 'a\nb\nc\nd\ne\nf\ng';
  const after = 'a\nb\nc\nd\ne\nF\ng\nh';
  expect(diffLines(before, after).filter(({ kind }) => kind !== 'same')).toEqual([
    { kind: 'removed', text: 'f' },
    { kind: 'added', text: 'F' },
    { kind: 'added', text: 'h' },
  ]);
  expect(foldSame(diffLines(before, after), 1)[0]).toEqual({ kind: 'fold', count: 4 });
  expect(diffLines('', '')).toEqual([{ kind: 'same', text: '' }]);
});

test('one change at a time: a second while one is under way does nothing, a fault is kept until the next', async () => {
  let release = (_value: string) => {};
  const mutation = createMutation((input: string) =>
    input === 'bad' ? Promise.reject(new TypeError('x')) : new Promise<string>((resolve) => (release = resolve)),
  );
  const first = mutation.run('a');
  expect([mutation.busy(), await mutation.run('b')]).toEqual([true, undefined]);
  release('done');
  expect([await first, mutation.busy()]).toEqual(['done', false]);
  expect([await mutation.run('bad'), mutation.problem()?.code]).toEqual([undefined, 'offline']);
});

test('a long list is loaded page by page, and again as far as it was shown', async () => {
  const asked: [number, number][] = [];
  const pages = createPages(
    async (skip, limit) => {
      asked.push([skip, limit]);
      return { items: Array.from({ length: Math.min(limit, 5 - skip) }, (_, index) => skip + index), total: 5 };
    },
    { size: 2 },
  );
  await pages.restart();
  await pages.more();
  expect([pages.items(), pages.done()]).toEqual([[0, 1, 2, 3], false]);
  await pages.reload();
  await pages.more();
  await pages.more();
  expect([pages.items(), pages.done(), asked]).toEqual([
    [0, 1, 2, 3, 4],
    true,
    [
      [0, 2],
      [2, 2],
      [0, 4],
      [4, 2],
    ],
  ]);
});

test('a list that is longer than one answer is read again as a whole', async () => {
  const asked: [number, number][] = [];
  const all = Array.from({ length: 9 }, (_, index) => index);
  const pages = createPages(
    async (skip, limit) => {
      asked.push([skip, limit]);
      return { items: all.slice(skip, skip + limit), total: all.length };
    },
    { size: 3, most: 4 },
  );
  await pages.restart();
  await pages.more();
  await pages.more();
  asked.length = 0;
  await pages.reload();
  expect([pages.items(), asked]).toEqual([
    all,
    [
      [0, 4],
      [4, 4],
      [8, 1],
    ],
  ]);
});

test('a page that is read again keeps unchanged entries, and a cancelled request is no problem', async () => {
  let answer = [{ id: 'a' }, { id: 'b' }];
  let fault: unknown;
  const pages = createPages(async () => {
    if (fault !== undefined) throw fault;
    return { items: answer, total: answer.length };
  });
  await pages.restart();
  const [a, b] = pages.items() ?? [];
  answer = [{ id: 'new' }, { id: 'a' }, { id: 'b' }];
  await pages.reload();
  expect([pages.items()?.[1] === a, pages.items()?.[2] === b]).toEqual([true, true]);
  fault = new DOMException('given up', 'AbortError');
  await pages.reload();
  expect(pages.problem()).toBeUndefined();
  fault = new TypeError('no connection');
  await pages.reload();
  expect([pages.problem()?.code, pages.items()?.length]).toEqual(['offline', 3]);
});

test('an entry that a newer one moved to the next page is shown once, and the list has an end', async () => {
  let all = Array.from({ length: 5 }, (_, index) => ({ id: `entry ${index}` }));
  const pages = createPages(async (skip, limit) => ({ items: all.slice(skip, skip + limit), total: all.length }), { size: 3 });
  await pages.restart();
  const known = all;
  all = [{ id: 'new' }, ...all];
  await pages.more();
  expect([pages.items(), pages.total(), pages.done()]).toEqual([known, 5, true]);
  await pages.reload();
  expect([pages.items(), pages.total(), pages.done()]).toEqual([all.slice(0, 5), 6, false]);
  await pages.more();
  expect([pages.items(), pages.done()]).toEqual([all, true]);
});

test('a whole list is read in pages, each entry once', async () => {
  const asked: number[] = [];
  const load = async (skip: number, limit: number) => {
    asked.push(skip);
    return { items: Array.from({ length: limit }, (_, index) => ({ id: Math.min(skip + index, 6) })), total: 7 };
  };
  expect((await allOf(load, 3)).items).toEqual(Array.from({ length: 7 }, (_, id) => ({ id })));
  expect(asked).toEqual([0, 3, 6]);
  expect((await allOf(load, 3, 4)).items).toHaveLength(6);
});

test('questions are asked one after the other', async () => {
  const dialogs = createDialogs();
  const first = dialogs.confirm({ title: 'one', action: 'Yes' });
  const second = dialogs.confirm({ title: 'two', action: 'Yes' });
  const answer = (agreed: boolean) => {
    const asked = dialogs.question();
    if (asked?.kind === 'confirm') asked.answer(agreed);
    return asked?.kind === 'confirm' ? asked.request.title : undefined;
  };
  expect([answer(true), await first, answer(false), await second, dialogs.question()]).toEqual([
    'one',
    true,
    'two',
    false,
    undefined,
  ]);
});

test('a broken line is opened again later and later, one that ended for good is not', () => {
  const sockets: ((type: string, event?: object) => void)[] = [];
  const waits: number[] = [];
  let due = () => {};
  const heard: string[] = [];
  const page = Object.assign(new EventTarget(), { visibilityState: 'visible' });
  const stream = createLiveStream({
    page,
    url: () => '/logs',
    onMessage: (line) => heard.push(line),
    connect: () => {
      const target = new EventTarget();
      sockets.push((type, event = {}) => void target.dispatchEvent(Object.assign(new Event(type), event)));
      return Object.assign(target, { close: () => {} }) as unknown as StreamSocket;
    },
    timers: {
      set: (run, ms) => {
        if (ms < SILENT_MS) waits.push(ms);
        due = run;
      },
      clear: () => {},
    },
  });
  stream.open();
  sockets[0]?.('open');
  sockets[0]?.('message', { data: 'a' });
  sockets[0]?.('close', { code: 1_006 });
  expect([stream.state(), heard]).toEqual(['waiting', ['a']]);
  due();
  sockets[1]?.('close', { code: 1_006 });
  page.visibilityState = 'hidden';
  due();
  expect([stream.state(), sockets.length]).toEqual(['waiting', 2]);
  page.visibilityState = 'visible';
  page.dispatchEvent(new Event('visibilitychange'));
  expect([waits, sockets.length]).toEqual([[500, 1_000], 3]);
  sockets[2]?.('close', { code: 4_401 });
  expect([stream.state(), waits.length]).toEqual(['closed', 2]);
});

test('a stream that asks for another address opens nothing once closed, and closes all that was under way', async () => {
  const sockets: { readonly tell: (type: string) => void; closed: number }[] = [];
  const stream = createLiveStream({
    url: () => '/logs',
    onMessage: () => {},
    connect: () => {
      const target = new EventTarget();
      const socket = { tell: (type: string) => void target.dispatchEvent(new Event(type)), closed: 0 };
      sockets.push(socket);
      return Object.assign(target, { close: () => void (socket.closed += 1) }) as unknown as StreamSocket;
    },
  });
  stream.reopen();
  expect(sockets).toHaveLength(0);
  stream.open();
  stream.reopen();
  sockets[1]?.tell('open');
  let is_closed = false;
  const closing = stream.close().then(() => (is_closed = true));
  await Bun.sleep(5);
  expect([stream.state(), sockets[1]?.closed, sockets[0]?.closed, is_closed]).toEqual(['closed', 1, 0, false]);
  sockets[0]?.tell('open');
  await closing;
  expect(sockets.map(({ closed }) => closed)).toEqual([1, 1]);
  stream.reopen();
  expect(sockets).toHaveLength(2);
});

test('figures read well', () => {
  expect([bytes(1), bytes(512), bytes(4 * 1_024 ** 2)]).toEqual(['1 byte', '512 bytes', '4.0 MiB']);
  expect([count(9_999), count(12_345)]).toEqual(['9,999', '12.3K']);
  expect([percent(0), percent(0.0001), percent(0.0123), percent(0.05), percent(0.5)]).toEqual([
    '0%',
    '<0.1%',
    '1.2%',
    '5%',
    '50%',
  ]);
});
