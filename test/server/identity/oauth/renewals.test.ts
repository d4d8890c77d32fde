import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { eq } from 'drizzle-orm';
import { decodeJwt } from 'jose';
import { isIssuedAfter, LONGEST_ACCESS_TOKEN } from '#core/edge/identity.ts';
import { recordEndedGrants } from '#core/identity/oauth/ended.ts';
import { identityEvent, listEnded, publicKeys } from '#core/identity/oauth/published.ts';
import { type TestApp, testApp } from '#test/support/app.ts';
import { type Member, PASSWORD, peopleOf } from '#test/support/people.ts';
import { createBrowser, exchanged, post, refreshed, tokens } from '#test/support/sign-in.ts';

let t: TestApp;
let owner: Member;
let carl: Member;
let browser: ReturnType<typeof createBrowser>;
beforeAll(async () => {
  t = await testApp();
  owner = await peopleOf(t).owner();
  carl = await peopleOf(t).join(owner, { username: 'carl', role: 'caller', groups: ['first'] });
  browser = createBrowser(t);
  expect((await browser.signIn('carl', PASSWORD)).status).toBe(200);
});
afterAll(() => t.close());

interface Claims {
  readonly grant: string;
  readonly groups: string[];
  readonly seq: number;
}

/** Whether hosts accept it, as far as ended grants go, and whose groups it names. */
async function readToken(access: unknown): Promise<{ counts: boolean; groups: unknown }> {
  const { iat = 0, seq, sub, grant, groups } = decodeJwt<Claims>(String(access));
  const of_it = (await listEnded(t.app)).filter((ended) => ended.sub === sub || ended.grant === grant);
  return { counts: of_it.every((until) => isIssuedAfter({ iat, seq }, until)), groups };
}
async function regroup(groups: string[]): Promise<void> {
  const { version } = (await owner.ask('GET', `people/${carl.id}`)).body;
  expect((await owner.ask('PATCH', `people/${carl.id}`, { groups, version })).status).toBe(200);
}

test('a token renewed within the second of a change counts, with what changed', async () => {
  const { access, refresh } = await tokens(t, browser);
  expect(await readToken(access)).toEqual({ counts: true, groups: ['first'] });
  await regroup(['second']);
  expect(await readToken(access)).toEqual({ counts: false, groups: ['first'] });
  t.advance(1);
  const { body } = await post(t, '/oauth/token', refreshed(refresh));
  expect(await readToken(body['access_token'])).toEqual({ counts: true, groups: ['second'] });
  t.advance(1);
  await regroup(['third']);
  expect(await readToken(body['access_token'])).toEqual({ counts: false, groups: ['second'] });
  t.advance(1);
  const signed_in = await tokens(t, browser);
  expect(await readToken(signed_in.access)).toEqual({ counts: true, groups: ['third'] });
});

test('a disabled person loses the tokens of a server whose clock is ahead, and gets new ones once enabled', async () => {
  const { access, refresh } = await tokens(t, browser);
  const enable = async (enabled: boolean) =>
    expect((await owner.ask('PATCH', `people/${carl.id}`, { enabled })).status).toBe(200);
  t.advance(-30_000);
  await enable(false);
  expect(await readToken(access)).toMatchObject({ counts: false });
  await enable(true);
  t.advance(1);
  const { body } = await post(t, '/oauth/token', refreshed(refresh));
  expect(await readToken(body['access_token'])).toMatchObject({ counts: true });
  // Hosts take no token that was issued in their future.
  const { iat = 0 } = decodeJwt(String(body['access_token']));
  expect(iat).toBeLessThan(t.app.clock().getTime() / 1_000 + 31);
  await regroup(['fourth']);
  expect(await readToken(body['access_token'])).toMatchObject({ counts: false });
  t.advance(120_000);
  await browser.signIn('carl', PASSWORD);
});

test('a change of groups ends the tokens of a server whose clock is ahead, whoever renewed the grant', async () => {
  await regroup(['fifth']);
  t.advance(1);
  const { refresh } = await tokens(t, browser);
  const renew = async (token: unknown) => (await post(t, '/oauth/token', refreshed(String(token)))).body;
  // The other server, by its clock: once for the client, and once more for the answer that got lost.
  t.advance(30_000);
  const ahead = await renew(refresh);
  t.advance(1_000);
  const again = await renew(refresh);
  expect(again['refresh_token']).toBe(ahead['refresh_token']);
  t.advance(-31_000);
  const mine = await renew(ahead['refresh_token']);
  t.advance(1);
  await regroup(['sixth']);
  for (const { access_token } of [ahead, again, mine]) expect(await readToken(access_token)).toMatchObject({ counts: false });
  const { access_token } = await renew(mine['refresh_token']);
  expect(await readToken(access_token)).toEqual({ counts: true, groups: ['sixth'] });
  t.advance(120_000);
  await browser.signIn('carl', PASSWORD);
});

describe('once the clock of a server was a year ahead', () => {
  const YEAR_MS = 365 * 24 * 3_600_000;
  let at_home: number;
  /** Ahead of the clock of PostgreSQL too, which is the real one. */
  const leap = () => {
    at_home = t.app.clock().getTime();
    t.advance(Date.now() + YEAR_MS - at_home);
  };
  const goBack = () => t.advance(at_home + 1 - t.app.clock().getTime());
  const expectUsable = async (access: unknown, groups: string[]) => {
    expect(await readToken(access)).toEqual({ counts: true, groups });
    expect(decodeJwt(String(access)).iat ?? 0).toBeLessThan(t.app.clock().getTime() / 1_000 + 1);
  };
  const renew = async (token: unknown) => (await post(t, '/oauth/token', refreshed(String(token)))).body;

  test('what it issued does not move the end of a person’s tokens there', async () => {
    await regroup(['before the leap']);
    leap();
    await browser.signIn('carl', PASSWORD);
    const ahead = await tokens(t, browser);
    expect(ahead.status).toBe(200);
    goBack();
    await regroup(['after the leap']);
    // Its clock is wrong, and the order of the database is not.
    expect(await readToken(ahead.access)).toMatchObject({ counts: false });
    t.advance(1);
    const renewed = await renew(ahead.refresh);
    await expectUsable(renewed['access_token'], ['after the leap']);
    // The grant has the right time again, which ends what is issued from now on.
    t.advance(30_000);
    const later = await renew(renewed['refresh_token']);
    t.advance(-29_000);
    await regroup(['later']);
    expect(await readToken(later['access_token'])).toMatchObject({ counts: false });
    t.advance(30_000);
    await browser.signIn('carl', PASSWORD);
  });

  test('what it ended ends now, whether the person changes again or gets a token', async () => {
    const { refresh, access } = await tokens(t, browser);
    const endAhead = async () => {
      leap();
      await t.app.store.write((tx) => recordEndedGrants(t.app, tx, { sub: carl.id }));
      goBack();
    };
    await endAhead();
    const revision = await identityEvent(t.app);
    expect(await readToken(access)).toMatchObject({ counts: false });
    const renewed = await renew(refresh);
    await expectUsable(renewed['access_token'], ['later']);
    expect(await readToken(access)).toMatchObject({ counts: false });
    // Hosts are told.
    expect(await identityEvent(t.app)).not.toMatchObject({ data: { list: (revision.data as { list: string }).list } });
    await endAhead();
    await regroup(['last']);
    t.advance(1);
    await expectUsable((await renew(renewed['refresh_token']))['access_token'], ['last']);
  });
});

test('a token that is asked for while its person changes waits, and never carries what was before', async () => {
  await regroup(['before']);
  t.advance(1);
  const { refresh } = await tokens(t, browser);
  const code = await browser.code();
  const { people } = t.app.store.tables;
  const asking = await t.app.store.write(async (tx) => {
    await tx
      .update(people)
      .set({ groups: ['after'] })
      .where(eq(people.id, carl.id));
    await recordEndedGrants(t.app, tx, { sub: carl.id });
    t.advance(1_000);
    const sent = [post(t, '/oauth/token', refreshed(refresh)), post(t, '/oauth/token', exchanged(code))];
    // Long enough for both to get to the person; however far they get, what follows holds.
    await Bun.sleep(200);
    return { sent };
  });
  for (const { status, body } of await Promise.all(asking.sent)) {
    expect(status).toBe(200);
    expect(await readToken(body['access_token'])).toEqual({ counts: true, groups: ['after'] });
  }
});

test('the first keys are made while a person decides, before the first token', async () => {
  const fresh = await testApp();
  try {
    await fresh.signIn();
    expect(await publicKeys(fresh.app)).toEqual([]);
    const { request } = await createBrowser(fresh).authorize();
    expect(request).not.toBe('');
    expect((await publicKeys(fresh.app)).length).toBe(2);
  } finally {
    await fresh.close();
  }
});

test('a token is never longer than its readers take, and one for the agent endpoint names no groups', async () => {
  const groups = Array.from({ length: 100 }, (_, n) => `${n} ${'ü'.repeat(97)}`.slice(0, 100).trim());
  await regroup(groups);
  t.advance(1);
  await browser.signIn('carl', PASSWORD);
  const { access } = await tokens(t, browser);
  expect(access.length).toBeLessThanOrEqual(LONGEST_ACCESS_TOKEN);
  expect(decodeJwt<{ groups: string[] }>(access).groups.length).toBeGreaterThan(20);
  const vera = await peopleOf(t).join(owner, { username: 'vera', role: 'viewer', groups });
  const hers = createBrowser(t);
  await hers.signIn('vera', PASSWORD);
  const agent = { resource: 'http://localhost:3000/agent-mcp' };
  const { access: for_agent } = await tokens(t, hers, agent, agent);
  expect(decodeJwt(for_agent)['groups']).toEqual([]);
  const headers = { authorization: `Bearer ${for_agent}`, 'x-service-token': t.app.env.SVC_AGENT_SERVICE_TOKEN };
  const answer = await t.request('GET', '/api/v1/tools', { anonymous: true, headers });
  expect([answer.status, vera.id]).toEqual([200, decodeJwt(for_agent).sub ?? '']);
});
