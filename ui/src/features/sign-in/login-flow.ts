import { createSignal } from 'solid-js';
import { createCountdown } from './countdown.ts';
import type { Problem } from '#ui/src/kernel/problem.ts';
import { browserTimers, type Timers } from '#ui/src/kernel/data/query.ts';
import { type Credentials, missingCredentials, type Session } from '#ui/src/kernel/session.ts';
import { LOGIN_WORDS } from '#ui/src/kernel/words.ts';

type LoginStep = 'password' | 'code' | 'recovery';

/** The server ends a pending sign-in with the fifth code that it refuses. */
const REFUSALS = 5;
/** Seconds to wait when the server limits without saying for how long. */
const LIMIT_S = 60;

export interface LoginFlow {
  readonly step: () => LoginStep;
  readonly problem: () => Problem | undefined;
  readonly busy: () => boolean;
  /** Seconds until the server takes another attempt. */
  readonly wait: () => number;
  /** Seconds for which the sign-in still waits for its second factor. */
  readonly left: () => number;
  /** Why no code can end this sign-in any more, so that it has to begin again; undefined while one can. */
  readonly over: () => string | undefined;
  /** False when the entry was not taken: `problem` or `over` says why. */
  enterPassword(credentials: Credentials): Promise<boolean>;
  enterCode(code: string): Promise<boolean>;
  choose(step: Exclude<LoginStep, 'password'>): void;
  /** Back to the password; a limit still stands there. */
  restart(): void;
  stop(): void;
}

/** Signing in, from the password over the second factor of an account that has one. */
export function createLoginFlow(
  session: Pick<Session, 'login' | 'verify'>,
  timers: Timers = browserTimers,
  now: () => number = Date.now,
): LoginFlow {
  const wait = createCountdown(timers, now);
  const expiry = createCountdown(timers, now);
  const [step, setStep] = createSignal<LoginStep>('password');
  const [problem, setProblem] = createSignal<Problem>();
  const [busy, setBusy] = createSignal(false);
  const [refusals, setRefusals] = createSignal(0);
  let pending_token = '';

  const during = async <T>(work: Promise<T>): Promise<T> => {
    setBusy(true);
    try {
      return await work;
    } finally {
      setBusy(false);
    }
  };
  const refuse = (refused: Problem): false => {
    setProblem(refused);
    if (refused.code === 'rate_limited') wait.start(refused.retry_after ?? LIMIT_S);
    return false;
  };
  const over = () => {
    if (step() === 'password') return undefined;
    if (refusals() >= REFUSALS) return LOGIN_WORDS.refused;
    if (expiry.left() === 0) return LOGIN_WORDS.expired;
    return wait.left() >= expiry.left() ? LOGIN_WORDS.limited : undefined;
  };
  const closed = () => busy() || wait.left() > 0 || over() !== undefined;

  return {
    step,
    problem,
    busy,
    wait: wait.left,
    left: expiry.left,
    over,
    async enterPassword(credentials) {
      if (closed()) return false;
      setProblem(missingCredentials(credentials, 1));
      if (problem() !== undefined) return false;
      const result = await during(session.login(credentials));
      if (result === 'signed_in') return true;
      if ('code' in result) return refuse(result);
      pending_token = result.pending_token;
      setRefusals(0);
      expiry.start(result.expires_in);
      setStep('code');
      return true;
    },
    async enterCode(code) {
      if (closed()) return false;
      const is_recovery = step() === 'recovery';
      // Authenticators show the digits in groups, and people copy the gap with them.
      const entered = is_recovery ? code.trim() : code.replaceAll(/\s/g, '');
      setProblem(unfitCode(entered, is_recovery));
      if (problem() !== undefined) return false;
      const result = await during(session.verify({ pending_token, code: entered, is_recovery }));
      if (result === 'signed_in') return true;
      if (result.code !== 'unauthenticated') return refuse(result);
      setRefusals(refusals() + 1);
      return refuse({ ...result, errors: [{ field: 'code', message: result.detail }] });
    },
    choose(next) {
      if (busy()) return;
      setProblem(undefined);
      setStep(next);
    },
    restart() {
      if (busy()) return;
      pending_token = '';
      setStep('password');
      if (wait.left() === 0) setProblem(undefined);
      expiry.stop();
    },
    stop() {
      wait.stop();
      expiry.stop();
    },
  };
}

function unfitCode(code: string, is_recovery: boolean): Problem | undefined {
  if (is_recovery ? code !== '' : /^\d{6}$/.test(code)) return undefined;
  const message = is_recovery ? LOGIN_WORDS.missing_recovery : LOGIN_WORDS.missing_code;
  return { code: 'invalid', detail: message, errors: [{ field: 'code', message }] };
}
