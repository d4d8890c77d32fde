import { expect, test } from 'bun:test';
import { createLoginFlow } from '#ui/src/features/sign-in/login-flow.ts';
import { fieldError, generalError, type Problem } from '#ui/src/kernel/problem.ts';
import type { PendingSignIn, SecondFactor, SignIn } from '#ui/src/kernel/session.ts';
import { LOGIN_WORDS } from '#ui/src/kernel/words.ts';

const CREDENTIALS = { username: 'ada', password: 'correct horse' };
const PENDING: PendingSignIn = { pending_token: 'p', expires_in: 300 };
const WRONG: Problem = { code: 'unauthenticated', detail: 'The code is wrong.', errors: [] };
const limited = (retry_after: number): Problem => ({ code: 'rate_limited', detail: 'Wait.', errors: [], retry_after });

/** A flow over answers in their order; the last one stays. `pass` lets seconds go by. */
function flowOver(logins: (SignIn | PendingSignIn)[], codes: SignIn[] = []) {
  const asked: SecondFactor[] = [];
  const waiting = new Map<object, () => void>();
  let now = 0;
  const next = <T>(answers: T[]): T => (answers.length > 1 ? answers.shift() : answers[0]) as T;
  const flow = createLoginFlow(
    {
      login: () => Promise.resolve(next(logins)),
      verify: (factor) => {
        asked.push(factor);
        return Promise.resolve(next(codes));
      },
    },
    {
      set: (run) => {
        const timer = {};
        waiting.set(timer, run);
        return timer;
      },
      clear: (timer) => void waiting.delete(timer as object),
    },
    () => now,
  );
  const pass = (seconds: number) => {
    now += seconds * 1_000;
    const due = [...waiting.values()];
    waiting.clear();
    for (const run of due) run();
  };
  return { flow, asked, pass, waiting };
}

test('without a second factor the password is all', async () => {
  const { flow } = flowOver(['signed_in']);
  expect(await flow.enterPassword({ username: '', password: 'x' })).toBe(false);
  expect(fieldError(flow.problem(), 'username')).toBe('Enter a username.');
  expect(await flow.enterPassword(CREDENTIALS)).toBe(true);
  expect([flow.step(), flow.problem(), flow.busy()]).toEqual(['password', undefined, false]);
});

test('a pending sign-in takes six digits with or without gaps, and says at the field what is not a code', async () => {
  const { flow, asked } = flowOver([PENDING], ['signed_in']);
  await flow.enterPassword(CREDENTIALS);
  expect([flow.step(), flow.left(), flow.over()]).toEqual(['code', 300, undefined]);
  for (const code of ['', '12345', '1234567', 'abcdef']) {
    expect(await flow.enterCode(code)).toBe(false);
    expect(fieldError(flow.problem(), 'code')).toBe(LOGIN_WORDS.missing_code);
  }
  expect(asked).toEqual([]);
  expect(await flow.enterCode(' 123 456')).toBe(true);
  expect(asked).toEqual([{ pending_token: 'p', code: '123456', is_recovery: false }]);
});

test('a recovery code goes as one, and changing between the two drops the old fault', async () => {
  const { flow, asked } = flowOver([PENDING], [WRONG, 'signed_in']);
  await flow.enterPassword(CREDENTIALS);
  expect(await flow.enterCode('123456')).toBe(false);
  expect(fieldError(flow.problem(), 'code')).toBe(WRONG.detail);
  expect(generalError(flow.problem(), ['code'])).toBeUndefined();
  flow.choose('recovery');
  expect([flow.step(), flow.problem()]).toEqual(['recovery', undefined]);
  expect(await flow.enterCode(' ')).toBe(false);
  expect(fieldError(flow.problem(), 'code')).toBe(LOGIN_WORDS.missing_recovery);
  expect(await flow.enterCode(' ABCD-EFGH ')).toBe(true);
  expect(asked.at(-1)).toEqual({ pending_token: 'p', code: 'ABCD-EFGH', is_recovery: true });
});

test('an expired sign-in asks the server nothing more and begins again with the password', async () => {
  const { flow, asked, pass, waiting } = flowOver([PENDING, { pending_token: 'q', expires_in: 60 }], ['signed_in']);
  await flow.enterPassword(CREDENTIALS);
  pass(299);
  expect([flow.left(), flow.over()]).toEqual([1, undefined]);
  pass(1);
  expect(flow.over()).toBe(LOGIN_WORDS.expired);
  expect(await flow.enterCode('123456')).toBe(false);
  expect(asked).toEqual([]);
  flow.restart();
  expect([flow.step(), flow.over(), waiting.size]).toEqual(['password', undefined, 0]);
  await flow.enterPassword(CREDENTIALS);
  expect(await flow.enterCode('123456')).toBe(true);
  expect(asked[0]?.pending_token).toBe('q');
});

test('the fifth refused code ends the sign-in; a new password begins a new count', async () => {
  const { flow, asked } = flowOver([PENDING], [WRONG]);
  await flow.enterPassword(CREDENTIALS);
  for (let n = 1; n <= 5; n += 1) {
    expect(flow.over()).toBeUndefined();
    await flow.enterCode('123456');
  }
  expect(flow.over()).toBe(LOGIN_WORDS.refused);
  await flow.enterCode('123456');
  expect(asked).toHaveLength(5);
  flow.restart();
  await flow.enterPassword(CREDENTIALS);
  expect(flow.over()).toBeUndefined();
});

test('a limit is waited for; one that outlasts the sign-in ends it, and the password waits too', async () => {
  const { flow, asked, pass } = flowOver([PENDING], [limited(42), limited(900)]);
  await flow.enterPassword(CREDENTIALS);
  await flow.enterCode('123456');
  expect([flow.wait(), flow.over(), generalError(flow.problem(), ['code'])]).toEqual([42, undefined, 'Wait.']);
  await flow.enterCode('123456');
  expect(asked).toHaveLength(1);
  pass(42);
  await flow.enterCode('123456');
  expect([flow.wait(), flow.over()]).toEqual([900, LOGIN_WORDS.limited]);
  flow.restart();
  expect([flow.step(), flow.wait(), await flow.enterPassword(CREDENTIALS)]).toEqual(['password', 900, false]);
  expect(generalError(flow.problem(), ['username', 'password'])).toBe('Wait.');
  pass(900);
  expect(await flow.enterPassword(CREDENTIALS)).toBe(true);
});

test('a server that does not answer leaves the step as it is', async () => {
  const offline: Problem = { code: 'offline', detail: 'No answer.', errors: [] };
  const { flow, waiting } = flowOver([PENDING], [offline, 'signed_in']);
  await flow.enterPassword(CREDENTIALS);
  expect(await flow.enterCode('123456')).toBe(false);
  expect([flow.step(), flow.over(), generalError(flow.problem(), ['code'])]).toEqual(['code', undefined, 'No answer.']);
  expect(await flow.enterCode('123456')).toBe(true);
  flow.stop();
  expect(waiting.size).toBe(0);
});
