import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'bun:test';
import { createPageQuestions, type PageQuestion } from '#core/edge/confirmation-page.ts';
import { signal } from '#core/platform/signals.ts';
import { followDecisions } from '#core/identity/oauth/confirmations.ts';
import { createHttp } from '#server/http/http.ts';
import { type TestApp, testApp } from '#test/support/app.ts';
import { type Member, PASSWORD, peopleOf } from '#test/support/people.ts';
import { createBrowser, tokens } from '#test/support/sign-in.ts';
import { until } from '#test/support/until.ts';

let t: TestApp;
let owner: Member;
let caller: Member;
let grant = '';
let told: unknown[] = [];
beforeAll(async () => {
  t = await testApp();
  owner = await peopleOf(t).owner();
  caller = await peopleOf(t).join(owner, { username: 'carl', role: 'caller' });
  await signClientIn();
  t.app.hosts.connect('h1', ({ event, data }) => {
    if (event === 'decision') told.push(data);
  });
});
beforeEach(() => (told = []));
afterAll(() => t.close());

async function signClientIn(): Promise<void> {
  const browser = createBrowser(t);
  expect((await browser.signIn('carl', PASSWORD)).status).toBe(200);
  expect((await tokens(t, browser)).status).toBe(200);
  const [row] = await t.app.store.db.select().from(t.app.store.tables.oauth_grants);
  grant = row?.id ?? '';
}

/** As a host seals it. */
function sealed(more: Partial<PageQuestion> = {}, keys = t.app.env.SVC_ENCRYPTION_KEY): string {
  return createPageQuestions(keys).seal({
    nonce: crypto.randomUUID(),
    person: caller.id,
    grant,
    tool: 'remove_notes',
    title: 'Remove notes',
    statement: 'DELETE FROM notes',
    direct: 2,
    all: 5,
    before: 4,
    arguments: [['id', '2']],
    ends_at: t.app.clock().getTime() + 120_000,
    ...more,
  });
}
/** What a host hears when it connects. */
async function greetingOf(id: string): Promise<string> {
  const ending = new AbortController();
  const headers = { host: 'localhost', 'x-service-token': t.app.env.SVC_AGENT_SERVICE_TOKEN };
  const request = new Request(`http://localhost/api/internal/hosts/stream?id=${id}`, { headers, signal: ending.signal });
  const { body } = await createHttp(t.app).fetch(request, { address: '192.0.2.1' });
  let text = '';
  const reading = body
    ?.pipeThrough(new TextDecoderStream())
    .pipeTo(new WritableStream({ write: (piece) => void (text += piece) }), { signal: ending.signal });
  await until(() => t.log.some(({ message, fields }) => message === 'host connected' && fields?.['id'] === id));
  await Bun.sleep(50);
  ending.abort();
  await reading?.catch(() => undefined);
  return text;
}
const get = (who: Member, request: string) => who.send('confirmations.get', { request });
const decide = (who: Member, request: string, decision = 'approve') =>
  who.ask('POST', `confirmations/${request}/${decision}`, {});

describe('a change that a person confirms on a page', () => {
  test('is shown to the person whose client asked, whatever their role', async () => {
    const { status, body } = await get(caller, sealed());
    expect(status).toBe(200);
    expect(body).toEqual({
      tool: 'remove_notes',
      title: 'Remove notes',
      statement: 'DELETE FROM notes',
      affected_rows: 5,
      direct_rows: 2,
      rows_before: 4,
      arguments: [{ name: 'id', value: '2' }],
      client: { name: 'Claude Code', kind: 'known', host: 'claude.ai' },
      resource: 'http://localhost:8080/mcp',
      person: { username: 'carl' },
      expires_at: expect.any(String),
    });
    expect(told).toEqual([]);
  });

  test('is decided once, and every host is told', async () => {
    for (const [decision, approved] of [
      ['approve', true],
      ['decline', false],
    ] as const) {
      const nonce = crypto.randomUUID();
      const request = sealed({ nonce });
      const decided = await Promise.all([decide(caller, request, decision), decide(caller, request, decision)]);
      expect(decided.map(({ status }) => status).toSorted((a, b) => a - b)).toEqual([204, 404]);
      expect(told.length).toBeGreaterThan(0);
      for (const news of told) expect(news).toEqual({ nonce, approved });
      told = [];
      expect((await decide(caller, request, 'approve')).status).toBe(404);
      expect((await get(caller, request)).status).toBe(404);
      expect(told).toEqual([]);
    }
  });

  test('is decided by nobody who can publish in Redis', async () => {
    const { kv } = t.app;
    const sent: { readonly channel: string; readonly message: string }[] = [];
    const publish = kv.publish.bind(kv);
    kv.publish = async (channel, message) => void sent.push({ channel, message });
    const news = JSON.stringify({ nonce: crypto.randomUUID(), approved: true });
    await signal(t.app, 'decision', news);
    await signal(t.app, 'cancel', news);
    kv.publish = publish;
    const [decision, cancel] = sent;
    if (decision === undefined || cancel === undefined) throw new Error('Nothing was sent.');
    expect(decision.message).not.toContain('nonce');
    const end = followDecisions(t.app);
    // Written by somebody else, moved from another channel, and sent again a while later.
    await publish(decision.channel, news);
    await publish(decision.channel, cancel.message);
    t.advance(11 * 60_000);
    await publish(decision.channel, decision.message);
    expect(told).toEqual([]);
    await signal(t.app, 'decision', news);
    expect(told).toEqual([JSON.parse(news)]);
    end();
  });

  test('reaches a host that was away then, as long as the question may count', async () => {
    const nonces = [crypto.randomUUID(), crypto.randomUUID()] as const;
    expect((await decide(caller, sealed({ nonce: nonces[0] }))).status).toBe(204);
    const ending = followDecisions(t.app);
    await signal(t.app, 'decision', JSON.stringify({ nonce: nonces[1], approved: false }));
    ending();
    const greeting = await greetingOf('h2');
    for (const [n, approved] of [true, false].entries()) {
      expect(greeting).toContain(`event: decision\ndata: ${JSON.stringify({ nonce: nonces[n], approved })}\n`);
    }
    t.advance(180_000);
    expect(await greetingOf('h3')).not.toContain('event: decision');
  });

  test('is refused to everybody else, who learn nothing of it', async () => {
    const request = sealed();
    const nobody = await t.send('confirmations.get', { request }, { anonymous: true });
    expect([nobody.status, (await t.send('confirmations.approve', { request }, { anonymous: true })).status]).toEqual([401, 401]);
    const browser = createBrowser(t);
    await browser.signIn('carl', PASSWORD);
    const { access } = await tokens(t, browser, { resource: 'http://localhost:8080/mcp' });
    const bearer = await t.send(
      'confirmations.approve',
      { request },
      { anonymous: true, headers: { authorization: `Bearer ${access}` } },
    );
    expect([401, 403]).toContain(bearer.status);
    for (const answer of [await get(owner, request), await decide(owner, request)]) {
      expect([answer.status, answer.body.code]).toEqual([403, 'forbidden']);
      expect(JSON.stringify(answer.body)).not.toMatch(/notes|carl|Claude|DELETE/);
    }
    expect(told).toEqual([]);
    expect((await get(caller, request)).status).toBe(200);
  });

  test('is not decided by a page of another site', async () => {
    const browser = createBrowser(t);
    await browser.signIn('carl', PASSWORD);
    const request = sealed();
    for (const headers of [{ origin: 'https://evil.example' }, { 'sec-fetch-site': 'cross-site' }]) {
      const forged = await browser.send('POST', `/api/v1/confirmations/${request}/approve`, { body: {}, headers });
      expect(forged.status).toBe(403);
    }
    expect(told).toEqual([]);
    const framed = await browser.send('GET', `/confirm?request=${request}`);
    expect(framed.headers.get('x-frame-options')).toBe('DENY');
    expect(framed.headers.get('content-security-policy')).toContain("frame-ancestors 'none'");
  });

  test('is no longer there when it expired, was changed, is of another installation or its grant has ended', async () => {
    const whole = sealed();
    const other = ['another-key-0123456789-0123456789-0123456789'];
    const gone = [
      sealed({ ends_at: t.app.clock().getTime() }),
      sealed({}, other),
      sealed({ grant: crypto.randomUUID() }),
      `${whole.slice(0, -4)}AAAA`,
      'nothing',
    ];
    for (const request of gone) {
      expect((await get(caller, request)).status).toBe(404);
      expect((await decide(caller, request)).status).toBe(404);
    }
    expect((await caller.send('confirmations.approve', { request: whole, all: 1 })).status).toBe(422);
    expect((await get(caller, 'x'.repeat(5_000))).status).toBe(404);
    expect((await caller.send('grants.delete', { id: grant })).status).toBe(204);
    expect((await decide(caller, whole)).status).toBe(404);
    expect(told).toEqual([]);
    await signClientIn();
  });
});
