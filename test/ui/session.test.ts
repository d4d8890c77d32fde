import { expect, test } from 'bun:test';
import { createApi } from '#ui/src/api.ts';
import { fieldError, generalError, isPassing, isUnloaded, type Problem, toProblem } from '#ui/src/kernel/problem.ts';
import { createSession, missingCredentials, redirect, type SessionState, type SharedPerson } from '#ui/src/kernel/session.ts';

type Answers = Readonly<Record<string, () => Response>>;

const problem =
  (status: number, body: object, headers: Record<string, string> = {}) =>
  () =>
    Response.json(body, { status, headers: { 'content-type': 'application/problem+json', ...headers } });

/** A session over the real client; the network below it answers from a table and keeps what it was asked. */
function sessionOver(answers: Answers, shared?: SharedPerson) {
  const asked: { line: string; init: RequestInit }[] = [];
  let ended = 0;
  const call = createApi({
    onSessionEnd: () => {
      ended += 1;
    },
    fetch: (url, init) => {
      const line = `${init.method} ${url}`;
      asked.push({ line, init });
      const answer = answers[line];
      return answer === undefined ? Promise.reject(new TypeError('Failed to fetch')) : Promise.resolve(answer());
    },
  });
  return { session: createSession(call, shared === undefined ? {} : { shared }), call, asked, ended: () => ended };
}

const status = (setup_required: boolean, authenticated: boolean) => () =>
  Response.json({
    setup_required,
    authenticated,
    version: '1.2.3',
    providers: [{ id: 'p', name: 'Google' }],
    password_sign_in: false,
  });
const STATUS = 'GET /api/v1/auth/status';
const ME = { 'GET /api/v1/auth/me': () => Response.json({ username: 'ada', role: 'viewer' }) };

test('the ways to sign in are those that the server names', async () => {
  const { session } = sessionOver({ [STATUS]: status(false, false) });
  expect(session.ways()).toEqual({ providers: [], password: true });
  await session.load();
  expect(session.ways()).toEqual({ providers: [{ id: 'p', name: 'Google' }], password: false });
});

const CREDENTIALS = { username: 'ada', password: 'correct horse' };

test('what a sign-out held back may be asked again before pages hear of the next sign-in', async () => {
  const { call } = sessionOver({ [STATUS]: status(false, true), ...ME });
  const states: SessionState[] = [];
  const session = createSession(call, { onEnter: () => void states.push(session.state()) });
  await session.load();
  expect([states, session.state()]).toEqual([['loading'], 'signed_in']);
});

test('the first look at the server decides between setup, login and the pages', async () => {
  const table: [Answers, SessionState][] = [
    [{ [STATUS]: status(true, false) }, 'setup'],
    [{ [STATUS]: status(false, false) }, 'anonymous'],
    [{ [STATUS]: status(false, true), 'GET /api/v1/auth/me': () => Response.json({ username: 'ada' }) }, 'signed_in'],
    [
      { [STATUS]: status(false, true), 'GET /api/v1/auth/me': problem(401, { code: 'unauthenticated', detail: 'x' }) },
      'anonymous',
    ],
    [{}, 'unreachable'],
  ];
  for (const [answers, expected] of table) {
    const { session } = sessionOver(answers);
    expect(session.state()).toBe('loading');
    await session.load();
    expect(session.state()).toBe(expected);
  }
});

test('setup asks for problem details and keeps the faults of the fields', async () => {
  const { session, asked } = sessionOver({
    'POST /api/v1/auth/setup': problem(422, {
      code: 'invalid',
      detail: 'Some fields are not valid.',
      errors: [{ field: 'password', message: 'password is too short.' }],
    }),
  });
  const refused = (await session.setup(CREDENTIALS)) as Problem;
  expect(new Headers(asked[0]?.init.headers).get('accept')).toContain('application/problem+json');
  expect(fieldError(refused, 'password')).toBe('Password is too short.');
  expect(generalError(refused, ['username', 'password'])).toBeUndefined();
  expect(generalError(refused, ['username'])).toBe('Some fields are not valid.');
});

test('setup signs in; when somebody was faster the login page is next', async () => {
  const first = sessionOver({
    'POST /api/v1/auth/setup': () => Response.json({ username: 'ada', totp_enabled: false }, { status: 201 }),
    ...ME,
  });
  expect(await first.session.setup(CREDENTIALS)).toBe('signed_in');
  expect([first.session.state(), first.session.username()]).toEqual(['signed_in', 'ada']);

  const second = sessionOver({
    'POST /api/v1/auth/setup': problem(409, { code: 'conflict', detail: 'An administrator exists.' }),
  });
  await second.session.setup(CREDENTIALS);
  expect(second.session.state()).toBe('anonymous');
});

test('a wrong password is told apart from too many attempts and from a second factor', async () => {
  const LOGIN = 'POST /api/v1/auth/login';
  const wrong = sessionOver({ [LOGIN]: problem(401, { code: 'unauthenticated', detail: 'Wrong.' }) });
  expect(await wrong.session.login(CREDENTIALS)).toMatchObject({ code: 'unauthenticated', detail: 'Wrong.' });
  expect(wrong.ended()).toBe(0);

  const limited = sessionOver({ [LOGIN]: problem(429, { code: 'rate_limited', detail: 'Wait.' }, { 'retry-after': '42' }) });
  expect(await limited.session.login(CREDENTIALS)).toMatchObject({ code: 'rate_limited', retry_after: 42 });

  const second = sessionOver({ [LOGIN]: () => Response.json({ totp_required: true, pending_token: 'p', expires_in: 300 }) });
  expect(await second.session.login(CREDENTIALS)).toMatchObject({ pending_token: 'p', expires_in: 300 });
  expect(second.session.state()).toBe('loading');
});

test('the second factor signs in; a wrong code ends no session', async () => {
  const VERIFY = 'POST /api/v1/auth/login/verify-2fa';
  const factor = { pending_token: 'p', code: '123456', is_recovery: false };
  const right = sessionOver({ [VERIFY]: () => Response.json({ totp_required: false, username: 'ada' }), ...ME });
  expect(await right.session.verify(factor)).toBe('signed_in');
  expect([right.session.state(), right.session.username()]).toEqual(['signed_in', 'ada']);
  expect(right.asked[0]?.init.body).toBe(JSON.stringify(factor));

  const wrong = sessionOver({ [VERIFY]: problem(401, { code: 'unauthenticated', detail: 'Wrong.' }) });
  expect(await wrong.session.verify(factor)).toMatchObject({ code: 'unauthenticated', detail: 'Wrong.' });
  expect(wrong.ended()).toBe(0);
});

test('a call that the server refuses for lack of a session ends it, once', async () => {
  const { session, call, ended } = sessionOver({
    'POST /api/v1/auth/login': () => Response.json({ totp_required: false, username: 'ada' }),
    ...ME,
    'GET /api/v1/deploy/status': problem(401, { code: 'unauthenticated', detail: 'Sign in.' }),
  });
  await session.login(CREDENTIALS);
  expect(await call('deploy.status', {}).catch(toProblem)).toMatchObject({ detail: 'Sign in.' });
  expect(ended()).toBe(1);
  expect([session.end(), session.end()]).toEqual([true, false]);
  // The page stays, with what was typed; leaving it leads to the login.
  expect([session.state(), redirect('expired', 'member', at('/tools'))]).toEqual(['expired', undefined]);
  session.leave();
  expect(session.state()).toBe('anonymous');
});

test('logging out that did not reach the server leaves the session as it is', async () => {
  const { session } = sessionOver({
    'POST /api/v1/auth/login': () => Response.json({ totp_required: false, username: 'ada' }),
    ...ME,
  });
  await session.login(CREDENTIALS);
  expect(await session.logout()).toMatchObject({ code: 'offline' });
  expect(session.state()).toBe('signed_in');
});

const at = (path: string, search = '') => ({ path, search, origin: 'https://sluice.test' });

test('every page sends a visitor who may not see it to the right one, and back afterwards', () => {
  expect(redirect('loading', 'member', at('/'))).toBeUndefined();
  expect(redirect('unreachable', 'login', at('/login'))).toBeUndefined();
  expect(redirect('setup', 'member', at('/'))).toBe('/setup');
  expect(redirect('setup', 'setup', at('/setup'))).toBeUndefined();
  expect(redirect('anonymous', 'member', at('/'))).toBe('/login');
  expect(redirect('anonymous', 'member', at('/tools', '?q=a'))).toBe('/login?next=%2Ftools%3Fq%3Da');
  expect(redirect('anonymous', 'setup', at('/setup'))).toBe('/login');
  expect(redirect('anonymous', 'login', at('/login'))).toBeUndefined();
  expect(redirect('signed_in', 'login', at('/login', '?next=%2Ftools%3Fq%3Da'))).toBe('/tools?q=a');
  expect(redirect('signed_in', 'login', at('/login', '?next=https%3A%2F%2Fevil.test'))).toBe('/');
  expect(redirect('signed_in', 'member', at('/tools'))).toBeUndefined();
  // A refused link of an account is said where it was asked for.
  for (const search of ['?refused=taken&next=%2Faccount', '?refused=taken&next=%2F', '?refused=taken'])
    expect(redirect('signed_in', 'login', at('/login', search))).toBe('/account?refused=taken');
  expect(redirect('signed_in', 'login', at('/login', '?refused=taken&next=%2Ftools'))).toBe('/tools');
  expect(redirect('anonymous', 'login', at('/login', '?refused=taken&next=%2Faccount'))).toBeUndefined();
});

test('what a tab keeps goes with its person, however they went', async () => {
  const kept = new Map<string, string>();
  const storage = {
    getItem: (key: string) => kept.get(key) ?? null,
    setItem: (key: string, text: string) => void kept.set(key, text),
    removeItem: (key: string) => void kept.delete(key),
    clear: () => kept.clear(),
  };
  Object.defineProperty(globalThis, 'sessionStorage', { value: storage, configurable: true });
  try {
    let me = { id: '1', username: 'ada', role: 'owner' };
    const { session } = sessionOver({
      [STATUS]: status(false, true),
      'GET /api/v1/auth/me': () => Response.json(me),
      'POST /api/v1/auth/login': () => Response.json({ totp_required: false, username: me.username }),
    });
    const keep = () => void kept.set('sluice.playground', 'results');
    await session.load();
    keep();
    // The same person, also under a new name.
    me = { ...me, username: 'ada.l' };
    await session.load();
    session.end();
    await session.login(CREDENTIALS);
    expect([session.username(), kept.get('sluice.playground')]).toEqual(['ada.l', 'results']);
    session.end();
    session.leave();
    expect(kept.get('sluice.playground')).toBeUndefined();
    await session.login(CREDENTIALS);
    keep();
    session.end();
    me = { id: '2', username: 'grace', role: 'viewer' };
    await session.login(CREDENTIALS);
    expect([session.username(), session.state(), kept.get('sluice.playground')]).toEqual(['grace', 'signed_in', undefined]);
    // Somebody else signed in from another tab.
    keep();
    me = { id: '3', username: 'alan', role: 'viewer' };
    const other = sessionOver({ [STATUS]: status(false, true), 'GET /api/v1/auth/me': () => Response.json(me) });
    await other.session.load();
    expect(kept.get('sluice.playground')).toBeUndefined();
  } finally {
    Reflect.deleteProperty(globalThis, 'sessionStorage');
  }
});

test('tabs of a browser share one sign-in: a page of one person sends nothing as another', async () => {
  const me = { id: '1', username: 'ada', role: 'owner' };
  const heard: ((id: string | undefined) => void)[] = [];
  const answers = {
    [STATUS]: status(false, true),
    'GET /api/v1/auth/me': () => Response.json(me),
    'POST /api/v1/auth/login': () => Response.json({ totp_required: false, username: me.username }),
    'POST /api/v1/auth/logout': () => new Response(null, { status: 204 }),
  };
  const tab = () => {
    const others = (own: number) => heard.filter((_, place) => place !== own);
    const place = heard.length;
    const follow = (hear: (id: string | undefined) => void) => void heard.push(hear);
    const tell = (id: string | undefined) => {
      for (const hear of others(place)) hear(id);
    };
    return sessionOver(answers, { tell, follow }).session;
  };
  const [one, two] = [tab(), tab()];
  await one.load();
  await two.load();
  expect([one.state(), two.state()]).toEqual(['signed_in', 'signed_in']);
  await two.logout();
  expect([one.state(), one.replaced()]).toEqual(['expired', false]);
  // Somebody signs in again, and everybody who is the same goes on.
  await two.login(CREDENTIALS);
  await Bun.sleep(0);
  expect([one.state(), two.state()]).toEqual(['signed_in', 'signed_in']);
  await two.logout();
  Object.assign(me, { id: '2', username: 'grace' });
  await two.login(CREDENTIALS);
  await Bun.sleep(0);
  expect([one.state(), one.replaced(), one.username(), two.username()]).toEqual(['expired', true, 'ada', 'grace']);
  // A browser that tells tabs nothing is asked.
  const alone = sessionOver(answers).session;
  await alone.load();
  Object.assign(me, { id: '3', username: 'alan' });
  await alone.refresh();
  expect([alone.state(), alone.replaced(), alone.username()]).toEqual(['expired', true, 'grace']);
});

test('code that could not be fetched is told from a fault of the code', () => {
  expect(isUnloaded(new TypeError('Failed to fetch dynamically imported module: http://a/b.js'))).toBe(true);
  expect(isUnloaded(new TypeError('error loading dynamically imported module: http://a/b.js'))).toBe(true);
  expect(isUnloaded(new TypeError('Importing a module script failed.'))).toBe(true);
  expect(isUnloaded(new Error('Unable to preload CSS for /assets/transfer.css'))).toBe(true);
  expect(isUnloaded(new TypeError('x is not a function'))).toBe(false);
});

test('empty and short entries are named before the server is asked', () => {
  expect(missingCredentials(CREDENTIALS, 8)).toBeUndefined();
  expect(missingCredentials({ username: '', password: 'short' }, 8)?.errors.map(({ field }) => field)).toEqual([
    'username',
    'password',
  ]);
  expect(missingCredentials({ username: 'ada', password: '' }, 1)?.errors).toHaveLength(1);
});

test('a fault that is no answer becomes a sentence without its inner text', () => {
  expect(toProblem(new TypeError('secret address')).detail).not.toContain('secret');
  expect(toProblem(new SyntaxError('secret body'))).toMatchObject({ code: 'internal' });
  expect(toProblem(new DOMException('x', 'AbortError')).code).toBe('aborted');
});

test('what a proxy answers for the server says what it is about, and passes by itself', async () => {
  const over = (status: number) =>
    sessionOver({
      'GET /api/v1/deploy/status': () => new Response('<html>nginx</html>', { status, headers: { 'retry-after': '7' } }),
    })
      .call('deploy.status', {})
      .catch(toProblem);
  const found = await Promise.all([502, 503, 504, 429, 413, 500].map(over));
  expect(found.map((one) => 'code' in one && one.code)).toEqual([
    'unavailable',
    'unavailable',
    'unavailable',
    'rate_limited',
    'too_large',
    'internal',
  ]);
  expect(found.map((one) => 'code' in one && isPassing(one))).toEqual([true, true, true, true, false, false]);
  expect(found[0]).toMatchObject({ retry_after: 7 });
});

test('what may be done follows the role, also when it has changed meanwhile', async () => {
  let role = 'viewer';
  const { session } = sessionOver({
    [STATUS]: status(false, true),
    'GET /api/v1/auth/me': () => Response.json({ username: 'ada', role }),
  });
  expect([session.may('tools.list'), session.may('auth.login')]).toEqual([false, true]);
  await session.load();
  expect([session.role(), session.may('tools.list'), session.may('tools.update'), session.may('people.list')]).toEqual([
    'viewer',
    true,
    false,
    false,
  ]);
  role = 'editor';
  await session.refresh();
  expect([session.role(), session.may('tools.update'), session.may('people.list')]).toEqual(['editor', true, false]);
});

test('an invitation is accepted whoever is signed in, but not before the first account is made', () => {
  expect(redirect('anonymous', 'invited', at('/invite'))).toBeUndefined();
  expect(redirect('signed_in', 'invited', at('/invite'))).toBeUndefined();
  expect(redirect('setup', 'invited', at('/invite'))).toBe('/setup');
});

test('a record that is gone and a session that ended are said in words for a person at a page', async () => {
  const refused = async (code: string, status: number, detail: string) => {
    const call = createApi({
      onSessionEnd: () => undefined,
      fetch: async () => Response.json({ code, detail, errors: [] }, { status }),
    });
    return (await call('deploy.status', {}).then(() => undefined, toProblem))?.detail;
  };
  expect(await refused('not_found', 404, 'There is no access token with this id.')).toBe(
    'This access token no longer exists. Someone may have deleted it.',
  );
  expect(await refused('not_found', 404, 'There is no candidate with this id. It may have expired.')).toBe(
    'This candidate no longer exists. It may have expired.',
  );
  expect(await refused('not_found', 404, 'There is no snapshot 7.')).toBe('There is no snapshot 7.');
  expect(await refused('unauthenticated', 401, 'Sign in first. This request has no valid session or token.')).toBe(
    'Your session ended. Sign in and try again.',
  );
  expect(await refused('unauthenticated', 401, 'The username or password is wrong.')).toBe('The username or password is wrong.');
});
