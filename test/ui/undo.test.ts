import { expect, test } from 'bun:test';
import { createApi } from '#ui/src/api.ts';
import { createDialogs } from '#ui/src/kernel/dialogs.ts';
import { createToasts } from '#ui/src/kernel/toasts.ts';
import { createDelete } from '#ui/src/pages/connections/use-delete.ts';
import { testApp } from '#test/support/app.ts';
import { sqliteConnection } from '#test/support/sqlite-connection.ts';

test('connections deleted together are one message, whose Undo brings all of them back', async () => {
  const t = await testApp();
  try {
    await t.signIn();
    const call = createApi({
      onSessionEnd: () => {},
      fetch: async (url, { method = 'GET', body }) => {
        const answer = await t.request(method, url, typeof body === 'string' ? { raw: body } : {});
        return answer.status === 204
          ? new Response(null, { status: 204 })
          : Response.json(answer.body, { status: answer.status });
      },
    });
    await call('connections.delete', { id: await sqliteConnection(t) });
    const connections = [];
    for (const name of ['a', 'b', 'c', 'd', 'e', 'f'])
      connections.push(await call('connections.create', { name, db_type: 'sqlite', database: 'shop.sqlite' }));
    const [dialogs, toasts] = [createDialogs(), createToasts({ set: () => 0, clear: () => undefined })];
    const undone = Promise.withResolvers<void>();
    const removed = createDelete({ call, dialogs, toasts })(connections, undone.resolve);
    while (dialogs.asked() === undefined) await Bun.sleep(1);
    const asked = dialogs.asked();
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
