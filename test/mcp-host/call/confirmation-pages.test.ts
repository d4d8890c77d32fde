import { afterEach, describe, expect, test } from 'bun:test';
import { join } from 'node:path';
import { Client as ModernClient, StreamableHTTPClientTransport as ModernTransport } from '@modelcontextprotocol/client';
import { Client as LegacyClient } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport as LegacyTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import {
  ElicitationCompleteNotificationSchema,
  ElicitRequestSchema,
  type ElicitResult,
} from '@modelcontextprotocol/sdk/types.js';
import { openRedisLimits } from '#core/cluster/redis-limits.ts';
import { createPageQuestions, type PageQuestion } from '#core/edge/confirmation-page.ts';
import { identityFile } from '#mcp-host/auth/signed/identity-state.ts';
import { reachable, redisUrl } from '#test/support/databases.ts';
import { identityOf, ISSUER, personClaims, testKey } from '#test/support/signed-tokens.ts';
import { authSettings, type ControlServer, ENVELOPE, KEY, parameterOf, snapshotOf, sqliteFolder, textOf } from '../support.ts';
import { ask, FORMS, hostsServing, KINDS, writingTool, writtenDatabase } from './confirmation-support.ts';
import { until } from '#test/support/until.ts';

const CAPABILITIES = 'io.modelcontextprotocol/clientCapabilities';
const PAGES = { ...ENVELOPE, [CAPABILITIES]: { elicitation: { url: {} } } };
const BOTH = { ...ENVELOPE, [CAPABILITIES]: { elicitation: { url: {}, form: {} } } };
/** What a client answers that has opened the page, with a yes that only a form could give. */
const OPENED = { action: 'accept' as const, content: { ok: true } };
type Kind = 'postgresql' | 'sqlite';

const ends: (() => unknown)[] = [];
afterEach(async () => {
  for (const end of ends.splice(0).toReversed()) await end();
});

/** Two hosts with a tool that asks, and somebody who has signed in. */
async function setup(kind: Kind, shared: boolean = reachable.redis) {
  const folder = sqliteFolder();
  ends.push(() => folder.remove());
  const database = await writtenDatabase(kind, folder);
  ends.push(() => database.drop());
  const space = crypto.randomUUID();
  const clock = { ms: Date.now() };
  const { connection } = database;
  const tools = [
    writingTool(connection, 'remove', { confirm: 'always' }),
    writingTool(connection, 'checked', { confirm: 'always', two_step: true }),
    toldTool(connection),
  ];
  const more = (name: string) => {
    const redis = shared ? openRedisLimits(redisUrl, space, () => undefined) : null;
    const auth = { ...authSettings(folder.directory), identity: identityFile(join(folder.directory, name, 'identity.json')) };
    return { redis, auth, now: () => clock.ms };
  };
  const server = { auth_type: 'oauth' as const };
  const { one, two } = await hostsServing(folder, ends, more, { connections: [connection], tools, server });
  const key = await testKey();
  const identity = identityOf([key]);
  for (const { host, control } of [one, two]) {
    control.send('identity', identity);
    await until(() => host.log.some(({ message }) => message === 'identity_list'));
  }
  const headersOf = async (claims: object = {}, at = one.host.mcp) => ({
    authorization: `Bearer ${await key.sign(personClaims(at.href, Date.now(), { ...claims }))}`,
  });
  const call = async (more: Parameters<typeof ask>[2] = {}, at = one.host.mcp, name = 'remove') =>
    ask(at, name, { envelope: PAGES, headers: await headersOf({}, at), ...more });
  return {
    one,
    two,
    clock,
    call,
    headersOf,
    run: async (text: string) => database.run(text),
    notes: async () => (await database.run('select * from notes')).length,
    /** What the server tells every host when somebody decides on the page. */
    decide: (nonce: string, approved: boolean, controls: readonly ControlServer[] = [one.control, two.control]): void => {
      for (const control of controls) control.send('decision', { nonce, approved });
    },
  };
}

/** A writing tool with one more argument. */
function toldTool(connection: Parameters<typeof writingTool>[0]) {
  const tool = writingTool(connection, 'told', { confirm: 'always' });
  return { ...tool, parameters: [...tool.parameters, parameterOf('why', 'string')] };
}

interface Led {
  readonly state: string;
  readonly params: Record<string, unknown>;
  readonly question: PageQuestion;
}
const questionAt = (url: unknown): PageQuestion => {
  const found = createPageQuestions([KEY]).open(new URL(String(url)).searchParams.get('request') ?? '');
  if (found === null) throw new Error(`No page of ours: ${String(url)}`);
  return found;
};
function ledTo({ body }: Awaited<ReturnType<typeof ask>>): Led {
  const result = body.result ?? {};
  const requests = result['inputRequests'] as { confirm: { params: Record<string, unknown> } } | undefined;
  if (requests === undefined) throw new Error(`Nobody was led to a page: ${JSON.stringify(body)}`);
  const { params } = requests.confirm;
  return { state: String(result['requestState']), params, question: questionAt(params['url']) };
}
const opened = (state: string, reply: object = OPENED) => ({ requestState: state, inputResponses: { confirm: reply } });
const outcome = async (answer: Promise<Awaited<ReturnType<typeof ask>>>) => {
  const { body } = await answer;
  return body.error?.code ?? body.result?.['resultType'];
};

for (const kind of ['postgresql', 'sqlite'] as const) {
  const up = KINDS.some((one) => one.kind === kind && one.up);
  describe.skipIf(!up && process.env['CI'] !== 'true')(`confirming on a page, on ${kind}`, () => {
    test('the question is an address that says nothing by itself, and only a decision of the server counts', async () => {
      const { call, decide, notes } = await setup(kind);
      const { state, params, question } = ledTo(await call());
      expect(Object.keys(params).toSorted()).toEqual(['message', 'mode', 'url']);
      expect(params['mode']).toBe('url');
      expect(params['message']).toContain('“remove” would change 2 rows');
      expect(String(params['message'])).not.toContain('id = 1');
      const url = new URL(String(params['url']));
      expect([url.origin, url.pathname, url.href.length < 2_000]).toEqual([ISSUER, '/confirm', true]);
      expect(url.href).not.toMatch(/remove|notes/);
      expect(question).toMatchObject({
        person: 'person-1',
        grant: 'grant-1',
        tool: 'remove',
        title: null,
        statement: 'DELETE FROM notes',
        direct: 1,
        all: 2,
        before: null,
        arguments: [['id', '1']],
      });
      decide(crypto.randomUUID(), true);
      const retry = call({ more: opened(state) });
      await Bun.sleep(100);
      expect(await notes()).toBe(2);
      decide(question.nonce, true);
      expect((await retry).body.result).toMatchObject({ resultType: 'complete', structuredContent: { affected_rows: 1 } });
      expect(await notes()).toBe(1);
      // A later word on the same question changes nothing, and neither does the same answer again.
      decide(question.nonce, false);
      const again = await call({ more: opened(state) });
      expect([again.body.error?.code, textOf(again)]).toEqual([-32_602, expect.stringContaining('used already')]);
      expect(await notes()).toBe(1);
    });

    test('what was declined, on the page or by the client, is not carried out', async () => {
      const { call, decide, notes } = await setup(kind);
      const { state, question } = ledTo(await call());
      decide(question.nonce, false);
      const declined = await call({ more: opened(state) });
      expect([declined.body.result?.['isError'], textOf(declined)]).toEqual([
        true,
        'This change was not confirmed, so nothing was changed.',
      ]);
      for (const action of ['decline', 'cancel']) {
        const unopened = ledTo(await call());
        expect(textOf(await call({ more: opened(unopened.state, { action }) }))).toContain('was not confirmed');
        decide(unopened.question.nonce, true);
        expect(await outcome(call({ more: opened(unopened.state) }))).toBe(-32_602);
      }
      expect(await notes()).toBe(2);
    });

    test('a decision that comes too late, for other rows or for another call changes nothing', async () => {
      const { call, decide, notes, clock, run, headersOf } = await setup(kind);
      const late = ledTo(await call());
      clock.ms += 120_001;
      decide(late.question.nonce, true);
      const anew = ledTo(await call({ more: opened(late.state) }));
      expect(anew.question.nonce).not.toBe(late.question.nonce);
      decide(anew.question.nonce, true);
      const theirs = await headersOf({ sub: 'person-2', grant: 'grant-2' });
      expect(await outcome(call({ more: opened(anew.state), headers: theirs }))).toBe(-32_602);
      expect(await outcome(call({ more: opened(anew.state), arguments: { id: 2 } }))).toBe(-32_602);
      expect(await outcome(call({ more: opened(`${anew.state}A`) }))).toBe(-32_602);
      expect(await notes()).toBe(2);

      const all = ledTo(await call({ arguments: { id: 9 } }));
      await run("insert into notes values (3, 'c')");
      decide(all.question.nonce, true);
      const changed = ledTo(await call({ arguments: { id: 9 }, more: opened(all.state) }));
      expect(changed.question).toMatchObject({ all: 6, before: 4 });
      expect(changed.params['message']).toContain('it was 4.');
      expect(await notes()).toBe(3);
      decide(changed.question.nonce, true);
      await call({ arguments: { id: 9 }, more: opened(changed.state) });
      expect(await notes()).toBe(0);
    });

    test('two hosts take one decision once, wherever the retry comes', async () => {
      const { one, two, call, decide, notes } = await setup(kind);
      const { state, question } = ledTo(await call());
      const retries = [one, two].map(({ host }) => call({ more: opened(state) }, host.mcp));
      decide(question.nonce, true);
      const outcomes = (await Promise.all(retries.map(outcome))).map(String);
      if (reachable.redis) expect(outcomes.toSorted()).toEqual(['-32602', 'complete']);
      expect(await notes()).toBe(1);
    });

    test.each(['SDK v2', 'SDK v2 in a session', 'SDK v1 in a session'])('%s leads its person there', async (which) => {
      const { one, decide, notes, headersOf } = await setup(kind);
      const told: unknown[] = [];
      const led: Record<string, unknown>[] = [];
      const answers = [true, false];
      const lead = (params: unknown): ElicitResult => {
        led.push(params as Record<string, unknown>);
        const { nonce } = questionAt(led.at(-1)?.['url']);
        const approved = answers.shift() ?? false;
        setTimeout(() => decide(nonce, approved), 50);
        return { action: 'accept' };
      };
      const requestInit = { headers: await headersOf() };
      const client = await (which === 'SDK v1 in a session' ? legacy() : modern());
      ends.push(() => client.close());
      const done = await client.callTool({ name: 'remove', arguments: { id: 1 } });
      expect(done.structuredContent).toMatchObject({ affected_rows: 1 });
      expect(await notes()).toBe(1);
      const declined = await client.callTool({ name: 'remove', arguments: { id: 2 } });
      expect([declined.isError, await notes(), led.length]).toEqual([true, 1, 2]);
      const ids = led.map((params) => params['elicitationId']);
      expect(ids).toEqual(which === 'SDK v2' ? [undefined, undefined] : [expect.any(String), expect.any(String)]);
      if (which === 'SDK v1 in a session') expect(told).toEqual(ids);

      async function modern() {
        const mode = which === 'SDK v2' ? { pin: '2026-07-28' } : ('legacy' as const);
        const capabilities = { elicitation: { url: {} } };
        const made = new ModernClient({ name: 'person', version: '1' }, { capabilities, versionNegotiation: { mode } });
        made.setRequestHandler('elicitation/create', async ({ params }) => lead(params) as never);
        await made.connect(new ModernTransport(one.host.mcp, { requestInit }));
        return made;
      }
      async function legacy() {
        const made = new LegacyClient({ name: 'person', version: '1' }, { capabilities: { elicitation: { url: {} } } });
        made.setRequestHandler(ElicitRequestSchema, async ({ params }) => lead(params));
        made.setNotificationHandler(ElicitationCompleteNotificationSchema, ({ params }) => {
          told.push(params.elicitationId);
        });
        await made.connect(new LegacyTransport(one.host.mcp, { requestInit }));
        return made;
      }
    });
  });
}

test('hosts that share nothing ask again instead of taking a decision of each other', async () => {
  const { two, call, decide, notes } = await setup('sqlite', false);
  const { state, question } = ledTo(await call());
  decide(question.nonce, true);
  const elsewhere = ledTo(await call({ more: opened(state) }, two.host.mcp));
  expect([elsewhere.question.nonce === question.nonce, await notes()]).toEqual([false, 2]);
  expect(await outcome(call({ more: opened(state) }))).toBe('complete');
  expect(await notes()).toBe(1);
});

test('a person who has not decided yet is waited for over several requests, without being led there again', async () => {
  const { one, call, decide, notes } = await setup('sqlite');
  const { state, question } = ledTo(await call());
  const waited = await call({ more: opened(state) });
  expect(waited.body.result).toEqual(expect.objectContaining({ resultType: 'input_required', requestState: state }));
  expect(waited.body.result?.['inputRequests']).toBeUndefined();
  decide(question.nonce, true);
  expect(await outcome(call({ more: { requestState: state } }))).toBe('complete');
  expect(await notes()).toBe(1);
  // The round that asked nothing new is no call, and whoever waited made no call slow.
  const logged = await until(() => {
    const items = one.control.usage.flatMap((batch) => batch.items);
    return items.length >= 2 ? items : null;
  });
  expect(logged.map(({ confirmation }) => confirmation)).toEqual(['asked', 'accepted']);
  for (const { duration_ms } of logged) expect(duration_ms).toBeLessThan(10_000);
}, 60_000);

test('a person who decides nothing in time is not led to another page: the call ends', async () => {
  const { one, call, clock, notes } = await setup('sqlite');
  const { state } = ledTo(await call());
  clock.ms += 119_800;
  const ended = await call({ more: opened(state) });
  expect([ended.body.result?.['isError'], textOf(ended)]).toEqual([
    true,
    'Nobody answered within 2 minutes, so nothing was changed. Call again to ask again.',
  ]);
  const logged = await until(() => one.control.usage.flatMap((batch) => batch.items).at(1));
  expect(logged).toMatchObject({ confirmation: 'expired', error: 'declined' });
  expect(await notes()).toBe(2);
});

test('what is approved after a deploy has replaced the version that asked is not run', async () => {
  const { one, call, decide, notes } = await setup('sqlite');
  const { state, question } = ledTo(await call());
  const waiting = call({ more: opened(state) });
  await Bun.sleep(200);
  await one.control.deploy(snapshotOf(2, { server: { auth_type: 'oauth' } }));
  decide(question.nonce, true);
  const refused = await waiting;
  expect([refused.body.result?.['isError'], textOf(refused)]).toEqual([
    true,
    expect.stringContaining('another version was deployed while a person was asked'),
  ]);
  expect(await notes()).toBe(2);
});

test.skipIf(!reachable.redis && process.env['CI'] !== 'true')(
  'whoever waits at a host that ends goes on waiting at another one',
  async () => {
    const { one, two, call, decide, notes } = await setup('sqlite', true);
    const { state, question } = ledTo(await call());
    const waiting = call({ more: opened(state) });
    await Bun.sleep(200);
    await one.host.host.stop(200);
    expect((await waiting).body.result).toEqual(expect.objectContaining({ resultType: 'input_required', requestState: state }));
    decide(question.nonce, true, [two.control]);
    expect(await outcome(call({ more: opened(state) }, two.host.mcp))).toBe('complete');
    expect(await notes()).toBe(1);
  },
);

test('forms come first, a two-step call needs no page, and nobody else is led to one', async () => {
  const { one, call, notes } = await setup('sqlite');
  for (const envelope of [BOTH, FORMS]) {
    const { body } = await call({ envelope });
    expect(JSON.stringify(body.result?.['inputRequests'])).toContain('"mode":"form"');
  }
  const none = await call({ envelope: ENVELOPE });
  expect([none.body.error?.code, textOf(none)]).toEqual([-32_021, expect.stringContaining('cannot ask anybody')]);
  const token = await call({ envelope: ENVELOPE }, one.host.mcp, 'checked');
  expect(token.body.result?.['structuredContent']).toMatchObject({ affected_rows: 2 });
  // With its confirm_token nobody passes for a person who was led to the page.
  const { state } = ledTo(await call({}, one.host.mcp, 'checked'));
  const passed = await call({ arguments: { id: 1, confirm_token: state } }, one.host.mcp, 'checked');
  expect([textOf(passed), await notes()]).toEqual([expect.stringContaining('does not belong'), 2]);
});

test('arguments are shown in full, and a call whose arguments do not fit is refused before it asks', async () => {
  const { one, call, notes } = await setup('sqlite', false);
  const long = 'a value that goes on '.repeat(150);
  const shown = ledTo(await call({ arguments: { id: 1, why: long } }, one.host.mcp, 'told'));
  expect(shown.question.arguments).toEqual([
    ['id', '1'],
    ['why', JSON.stringify(long)],
  ]);
  expect(String(shown.params['url']).length).toBeLessThan(7_000);
  const refused = await call({ arguments: { id: 1, why: '長'.repeat(2_000) } }, one.host.mcp, 'told');
  expect(textOf(refused)).toContain('too long for the page');
  expect(refused.body.result?.['inputRequests']).toBeUndefined();
  expect(await notes()).toBe(2);
});
