import { createSignal } from 'solid-js';
import type { Call } from '../api.ts';
import { safeNext } from './router.ts';
import { type Problem, toProblem } from './problem.ts';

export type SessionState = 'loading' | 'unreachable' | 'setup' | 'anonymous' | 'signed_in';

export interface Credentials {
  readonly username: string;
  readonly password: string;
}

/** A right password of an account with a second factor: the token goes with the code, within `expires_in` seconds. */
export interface PendingSignIn {
  readonly pending_token: string;
  readonly expires_in: number;
}

export interface SecondFactor {
  readonly pending_token: string;
  readonly code: string;
  readonly is_recovery: boolean;
}

/** What signing in came to. */
export type SignIn = 'signed_in' | Problem;

export interface Session {
  readonly state: () => SessionState;
  readonly username: () => string;
  /** Version of the server. */
  readonly version: () => string;
  load(): Promise<void>;
  setup(credentials: Credentials): Promise<SignIn>;
  login(credentials: Credentials): Promise<SignIn | PendingSignIn>;
  /** Ends a pending sign-in with its second factor. */
  verify(factor: SecondFactor): Promise<SignIn>;
  logout(): Promise<Problem | undefined>;
  /** The server no longer knows this session. True when there was one to lose. */
  end(): boolean;
}

export function createSession(call: Call): Session {
  const [state, setState] = createSignal<SessionState>('loading');
  const [username, setUsername] = createSignal('');
  const [version, setVersion] = createSignal('');

  const enter = (name: string): SignIn => {
    setUsername(name);
    setState('signed_in');
    return 'signed_in';
  };

  return {
    state,
    username,
    version,
    async load() {
      try {
        const status = await call('auth.status', {});
        setVersion(status.version);
        if (status.authenticated) enter((await call('auth.me', {})).username);
        else setState(status.setup_required ? 'setup' : 'anonymous');
      } catch (fault) {
        setState(toProblem(fault).code === 'unauthenticated' ? 'anonymous' : 'unreachable');
      }
    },
    async setup(credentials) {
      try {
        return enter((await call('auth.setup', credentials)).username);
      } catch (fault) {
        const problem = toProblem(fault);
        // Somebody else was first: the account exists, so this is a login from here on.
        if (problem.code === 'conflict') setState('anonymous');
        return problem;
      }
    },
    async login(credentials) {
      try {
        const answer = await call('auth.login', credentials);
        return answer.totp_required ? answer : enter(answer.username);
      } catch (fault) {
        return toProblem(fault);
      }
    },
    async verify(factor) {
      try {
        const answer = await call('two_factor.login', factor);
        return answer.totp_required ? toProblem(undefined) : enter(answer.username);
      } catch (fault) {
        return toProblem(fault);
      }
    },
    async logout() {
      try {
        await call('auth.logout', {});
      } catch (fault) {
        return toProblem(fault);
      }
      setUsername('');
      setState('anonymous');
      return undefined;
    },
    end() {
      if (state() !== 'signed_in') return false;
      setUsername('');
      setState('anonymous');
      return true;
    },
  };
}

/** Who a page is for. */
export type Audience = 'setup' | 'login' | 'member';

export interface Place {
  readonly path: string;
  readonly search: string;
  readonly origin: string;
}

/** Where the browser has to go before a page for `audience` may be shown; undefined: it may stay. */
export function redirect(state: SessionState, audience: Audience, place: Place): string | undefined {
  if (state === 'loading' || state === 'unreachable') return undefined;
  if (state === 'setup') return audience === 'setup' ? undefined : '/setup';
  if (state === 'anonymous') {
    if (audience === 'login') return undefined;
    const next = audience === 'member' ? `${place.path}${place.search}` : '/';
    return next === '/' ? '/login' : `/login?next=${encodeURIComponent(next)}`;
  }
  return audience === 'member' ? undefined : safeNext(new URLSearchParams(place.search).get('next'), place.origin);
}

/** What can be said before asking the server: both fields are needed, a new password has a least length. */
export function missingCredentials({ username, password }: Credentials, shortest: number): Problem | undefined {
  const errors = [
    ...(username === '' ? [{ field: 'username', message: 'Enter a username.' }] : []),
    ...(password === '' ? [{ field: 'password', message: 'Enter a password.' }] : []),
    ...(password !== '' && password.length < shortest
      ? [{ field: 'password', message: `Use at least ${shortest} characters.` }]
      : []),
  ];
  return errors.length === 0 ? undefined : { code: 'invalid', detail: 'Some fields need attention.', errors };
}
