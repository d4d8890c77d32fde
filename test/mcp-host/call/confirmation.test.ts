import { describe, expect, test } from 'bun:test';
import { ENVELOPE, snapshotOf, textOf } from '../support.ts';
import { ask, askingHost, KINDS, questionIn, writingTool, type WrittenDatabase, yes } from './confirmation-support.ts';
import { until } from '#test/support/until.ts';

for (const { kind, up } of KINDS) {
  describe.skipIf(!up && process.env['CI'] !== 'true')(`writes that ask, on ${kind}`, () => {
    let database: WrittenDatabase;
    let clock = Date.now();
    const of = (table: string) => database.run(`select * from ${table} order by 1`);
    const notes = async () => (await of('notes')).length;
    const at = askingHost({ now: () => clock });
    at.database(kind, async (made) => {
      database = made;
      const { connection } = database;
      const tools = [
        writingTool(connection, 'remove', { confirm: 'always' }),
        writingTool(connection, 'other', { confirm: 'always' }),
        writingTool(connection, 'some', { confirm: 'above', confirm_rows: 2 }),
        writingTool(connection, 'limited', { max_affected_rows: 2 }),
        writingTool(connection, 'checked', { confirm: 'always', two_step: true }),
        writingTool(connection, 'cancel', { sql: 'delete from orders where id <= :id', confirm: 'always' }),
        writingTool(connection, 'renew', {
          sql: "update orders set state = 'old' where state = 'old' and id <= :id",
          confirm: 'always',
        }),
        writingTool(connection, 'add', {
          sql: "insert into notes values (:id, 'n')",
          confirm: 'always',
        }),
      ];
      await at.control.deploy(snapshotOf(1, { connections: [connection], tools }));
    });
    const remove = (more?: Parameters<typeof ask>[2], name = 'remove') => ask(at.mcp, name, more);
    const asked = async (name = 'remove', args: Record<string, unknown> = { id: 1 }) =>
      questionIn(await remove({ arguments: args }, name));
    const confirmed = (state: string, more: Parameters<typeof ask>[2] = {}, name = 'remove') =>
      remove({ ...more, more: { ...yes(state), ...more.more } }, name);

    test('a call is answered with a question, and changes nothing', async () => {
      const { message, schema, state } = await asked();
      expect(message).toContain(
        '“remove” would change 2 rows (1 directly, 1 through cascades, triggers or functions) with DELETE FROM notes.',
      );
      expect(message).toContain('Arguments: id = 1.');
      expect(schema).toEqual({
        type: 'object',
        properties: { ok: { type: 'boolean', title: 'Change 2 rows' } },
        required: ['ok'],
      });
      expect(state).toMatch(/^[\w-]{100,1000}$/);
      expect([await notes(), await of('audits')]).toEqual([2, []]);
    });

    test('what is confirmed is committed, once', async () => {
      const { state } = await asked();
      const answer = await confirmed(state);
      expect(answer.body.result).toMatchObject({ resultType: 'complete', structuredContent: { affected_rows: 1 } });
      expect([await notes(), (await of('audits')).length]).toEqual([1, 1]);
      const again = await confirmed(state);
      expect([again.body.error?.code, again.body.error?.message]).toEqual([-32_602, expect.stringContaining('used already')]);
      expect((await of('audits')).length).toBe(1);
    });

    test('an answer counts for its arguments, tool and caller alone, and only as it was sealed', async () => {
      const { state } = await asked();
      const refusals = [
        await confirmed(state, { arguments: { id: 2 } }),
        await confirmed(state, {}, 'other'),
        await confirmed(`${state}-TAMPERED`),
        await confirmed(`${state.slice(0, -8)}AAAAAAAA`),
        await confirmed('x'.repeat(5_000)),
        await remove({ more: { ...yes(state), requestState: 7 } }),
        await confirmed(state, {}, 'checked'),
      ];
      expect(refusals.map(({ body }) => body.error?.code)).toEqual(refusals.map(() => -32_602));
      expect([await notes(), await of('audits')]).toEqual([2, []]);
    });

    test('a declined, cancelled, empty or untrue form changes nothing', async () => {
      const answers = [
        { action: 'decline' },
        { action: 'cancel' },
        { action: 'accept' },
        { action: 'accept', content: { ok: false } },
      ];
      for (const answer of [...answers, { action: 'accept', content: { ok: 'true' } }]) {
        const { state } = await asked();
        const declined = await remove({ more: { requestState: state, inputResponses: { confirm: answer } } });
        expect([answer, declined.body.result?.['isError'], textOf(declined)]).toEqual([
          answer,
          true,
          expect.stringContaining('perhaps nobody was asked'),
        ]);
        expect((await confirmed(state)).body.error?.code).toBe(-32_602);
      }
      clock += 5_000;
      expect(await notes()).toBe(2);
    });

    test('an answer that comes too late, or after a deploy, is asked for again', async () => {
      const late = await asked();
      clock += 120_001;
      const again = questionIn(await confirmed(late.state));
      expect([questionIn(await remove()).message, again.message].map((text) => text.includes('answer no longer counts'))).toEqual(
        [false, true],
      );
      const { connection } = database;
      const tools = [writingTool(connection, 'remove', { confirm: 'always' })];
      const { id } = tools[0] ?? { id: '' };
      await at.control.deploy(snapshotOf(2, { connections: [connection], tools }));
      const moved = await confirmed(again.state);
      expect(moved.body.error?.code ?? questionIn(moved).message).toBeDefined();
      const fresh = await asked();
      await at.control.deploy(
        snapshotOf(3, { connections: [connection], tools: [{ ...tools[0]!, id, description: 'x' } as never] }),
      );
      const { message } = questionIn(await confirmed(fresh.state));
      expect(message).toContain('would change 2 rows');
      expect(message).toContain('Another version was deployed since you were asked.');
      expect(await notes()).toBe(2);
    });

    test('without the answer the question is put again', async () => {
      const { state } = await asked();
      expect(questionIn(await remove({ more: { requestState: state } })).message).toContain('would change 2 rows');
      expect(questionIn(await remove({ more: { inputResponses: yes(state).inputResponses } })).message).toContain('would change');
      expect(await notes()).toBe(2);
    });

    test('other rows than those that were confirmed are rolled back and asked about', async () => {
      const { state } = await asked('remove', { id: 9 });
      await database.run("insert into notes values (3, 'c')");
      const again = questionIn(await confirmed(state, { arguments: { id: 9 } }));
      expect(again.message).toContain('would change 6 rows');
      expect(again.message).toContain('it was 4.');
      expect([await notes(), await of('audits')]).toEqual([3, []]);
      await confirmed(again.state, { arguments: { id: 9 } });
      expect([await notes(), (await of('audits')).length]).toEqual([0, 3]);
    });

    test('a call that changes nothing asks nobody', async () => {
      const nothing = await remove({ arguments: { id: 0 } });
      expect(nothing.body.result).toMatchObject({ resultType: 'complete', structuredContent: { affected_rows: 0 } });
    });

    test('above a number of rows it asks, up to it it writes', async () => {
      expect((await remove({ arguments: { id: 1 } }, 'some')).body.result).toMatchObject({ resultType: 'complete' });
      expect(await notes()).toBe(1);
      await database.run("insert into notes values (7, 'g')");
      expect((await asked('some', { id: 9 })).message).toContain('would change 4 rows');
      expect(await notes()).toBe(2);
    });

    test('beyond the limit it is rolled back, whoever calls', async () => {
      expect((await remove({ arguments: { id: 1 }, envelope: ENVELOPE }, 'limited')).body.result).toMatchObject({
        resultType: 'complete',
      });
      await database.run("insert into notes values (7, 'g')");
      const refused = await remove({ arguments: { id: 9 }, envelope: ENVELOPE }, 'limited');
      expect([refused.body.result?.['isError'], textOf(refused)]).toEqual([
        true,
        expect.stringContaining('may change at most 2'),
      ]);
      expect(await notes()).toBe(2);
    });

    test('a client that cannot ask is told the way out', async () => {
      const refused = await remove({ envelope: ENVELOPE });
      expect([refused.status, refused.body.error?.code, textOf(refused)]).toEqual([
        400,
        -32_021,
        expect.stringContaining('allow two-step calls'),
      ]);
      expect(refused.body.error).toMatchObject({ data: { requiredCapabilities: { elicitation: { form: {} } } } });
      const url_only = { ...ENVELOPE, 'io.modelcontextprotocol/clientCapabilities': { elicitation: { url: {} } } };
      expect(textOf(await remove({ envelope: url_only }))).toContain('a person has to confirm that');
      expect(await notes()).toBe(2);
    });

    test('a two-step call carries a token that counts once, for the same arguments', async () => {
      const first = await remove({ envelope: ENVELOPE }, 'checked');
      const { confirm_token, affected_rows } = (first.body.result?.['structuredContent'] ?? {}) as Record<string, unknown>;
      expect([affected_rows, await notes()]).toEqual([2, 2]);
      const second = (args: Record<string, unknown>) =>
        remove({ arguments: { ...args, confirm_token }, envelope: ENVELOPE }, 'checked');
      expect(textOf(await second({ id: 2 }))).toContain('does not belong to this call');
      expect((await second({ id: 1 })).body.result).toMatchObject({ structuredContent: { affected_rows: 1 } });
      expect(textOf(await second({ id: 1 }))).toContain('used already');
      expect(await notes()).toBe(1);
      // A token is no person's answer, and a person's answer no token.
      const { state } = await asked('checked', { id: 2 });
      expect(textOf(await remove({ arguments: { id: 2, confirm_token: state }, envelope: ENVELOPE }, 'checked'))).toContain(
        'does not belong',
      );
    });

    test('rows of cascades count, or the call is refused where nobody counts them', async () => {
      const answer = await remove({ arguments: { id: 2 } }, 'cancel');
      if (kind === 'mysql') {
        expect([answer.body.result?.['isError'], textOf(answer)]).toEqual([
          true,
          expect.stringContaining('whose rows the server does not count'),
        ]);
      } else {
        expect(questionIn(answer).message).toContain('would change 5 rows (2 directly, 3 through');
      }
      expect([(await of('orders')).length, (await of('items')).length]).toEqual([4, 3]);
    });

    test('the outcome is in the request log and in the metrics', async () => {
      const { state } = await asked();
      await confirmed(state);
      await asked('add', { id: 50 });
      const logged = await until(() => {
        const said = at.control.usage
          .flatMap(({ items }) => items)
          .map((item) => (item as { confirmation?: string }).confirmation);
        return said.includes('accepted') && said.includes('asked') && said.includes('declined') && said.includes('checked')
          ? said
          : null;
      });
      expect(logged).toContain('changed');
      expect(logged).toContain('expired');
    });
  });
}
