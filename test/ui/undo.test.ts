import { expect, test } from 'bun:test';
import { type Call, createApi } from '#ui/src/api.ts';
import { createUndo } from '#ui/src/components/use-undo.ts';
import { toProblem } from '#ui/src/kernel/problem.ts';
import { takeBack } from '#ui/src/kernel/data/take-back.ts';
import { createDialogs } from '#ui/src/kernel/dialogs.ts';
import { createToasts } from '#ui/src/kernel/toasts.ts';
import { createDelete } from '#ui/src/pages/connections/use-delete.ts';
import { type TestApp, testApp } from '#test/support/app.ts';
import { sqliteConnection } from '#test/support/sqlite-connection.ts';

/** The typed client of the interface over a real server. */
const callOf = (t: TestApp): Call =>
  createApi({
    onSessionEnd: () => {},
    fetch: async (url, { method = 'GET', body }) => {
      const answer = await t.request(method, url, typeof body === 'string' ? { raw: body } : {});
      return answer.status === 204 ? new Response(null, { status: 204 }) : Response.json(answer.body, { status: answer.status });
    },
  });
const silent = () => createToasts({ set: () => 0, clear: () => undefined });

test('an Undo takes back what was done here, and nothing that came after it', async () => {
  const t = await testApp();
  try {
    await t.signIn();
    const call = callOf(t);
    const id = await sqliteConnection(t);
    const [toasts, name] = [silent(), async () => (await call('connections.get', { id })).name];
    const changed = async (wanted: string) => {
      const { version } = await call('connections.update', { id, name: wanted });
      return new Promise<void>((resolve) => {
        createUndo({ call, toasts })(`${wanted}.`, { type: 'connection', ids: [id], action: 'update', version }, resolve);
      });
    };
    const press = (text: string) =>
      toasts
        .list()
        .find((toast) => toast.text === text)
        ?.action?.run();
    const mine = changed('mine');
    while (toasts.list().length === 0) await Bun.sleep(1);
    await call('connections.update', { id, name: 'theirs' });
    press('mine.');
    await mine;
    expect([await name(), toasts.list().at(-1)?.text]).toEqual([
      'theirs',
      'ada changed theirs since. The history shows what can be restored.',
    ]);
    const again = changed('again');
    while (!toasts.list().some(({ text }) => text === 'again.')) await Bun.sleep(1);
    press('again.');
    await again;
    expect([await name(), toasts.list().at(-1)?.text]).toEqual(['theirs', 'Undone.']);
  } finally {
    await t.close();
  }
});

test('an import is taken back only while it is the newest one', async () => {
  const t = await testApp();
  try {
    await t.signIn();
    const call = callOf(t);
    await sqliteConnection(t);
    const connection = (name: string) => ({ name, db_type: 'sqlite', database: 'shop.sqlite' });
    const imported = (name: string) => call('transfer.import', { format: 'sluice/1', connections: [connection(name)] });
    const { batch_id } = await imported('first');
    const second = await imported('second');
    const refused = await takeBack(call, { action: 'import', batch_id }).catch(toProblem);
    expect(refused).toMatchObject({ code: 'conflict' });
    await takeBack(call, { action: 'import', batch_id: second.batch_id });
    expect((await call('connections.list', {})).items.map(({ name }) => name)).toEqual(['first', 'shop']);
  } finally {
    await t.close();
  }
});

test('connections deleted together are one message, whose Undo brings all of them back', async () => {
  const t = await testApp();
  try {
    await t.signIn();
    const call = callOf(t);
    await call('connections.delete', { id: await sqliteConnection(t) });
    const connections = [];
    for (const name of ['a', 'b', 'c', 'd', 'e', 'f'])
      connections.push(await call('connections.create', { name, db_type: 'sqlite', database: 'shop.sqlite' }));
    const [dialogs, toasts] = [createDialogs(), silent()];
    const undone = Promise.withResolvers<void>();
    const removed = createDelete({ call, dialogs, toasts })(connections, undone.resolve);
    while (dialogs.question() === undefined) await Bun.sleep(1);
    const asked = dialogs.question();
    if (asked?.kind === 'confirm') asked.answer(true);
    expect(await removed).toBe(true);
    expect(await call('connections.list', {})).toMatchObject({ total: 0 });
    expect(toasts.list().map(({ text }) => text)).toEqual(['6 connections deleted.']);
    toasts.list()[0]?.action?.run();
    await undone.promise;
    expect(await call('connections.list', {})).toMatchObject({ total: 6 });
  } finally {
    await t.close();
  }
});
