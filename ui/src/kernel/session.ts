import { createSignal } from 'solid-js';
import { forgetTab, tabStorage } from './storage.ts';
import { holds, type Role } from '#core/contract/identity/roles.ts';
import type { OperationName, Output, RawInput } from '#core/contract/index.ts';
import { routes } from '#core/contract/routes.ts';
import type { Call } from '../api.ts';
import type { SessionGate } from './data/session-gate.ts';
import { safeNext } from './route/router.ts';
import { type Problem, toProblem } from './problem.ts';

/** `expired`: the session has ended under a page, which stays as it is until the person signs in again or leaves. */
export type SessionState = 'loading' | 'unreachable' | 'setup' | 'anonymous' | 'expired' | 'signed_in';

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

interface Ways {
  readonly providers: readonly { readonly id: string; readonly name: string }[];
  /** Whether a password is one of them. */
  readonly password: boolean;
}

export interface Session {
  readonly state: () => SessionState;
  readonly username: () => string;
  /** Of the person who signed in; nothing before. */
  readonly role: () => Role | undefined;
  /** Whether the role of the person may call an operation. */
  readonly may: (name: OperationName) => boolean;
  /** Version of the server. */
  readonly version: () => string;
  /** How people sign in here. */
  readonly ways: () => Ways;
  load(): Promise<void>;
  /** Asks who is signed in and with which role: an administrator may have changed it, and another tab may have signed in somebody else. */
  refresh(): Promise<void>;
  /** An expired session goes on when the person signed in again in another tab. */
  rejoin(): Promise<void>;
  /** Whether the session ended because somebody else signed in with this browser. */
  readonly replaced: () => boolean;
  /** Accepts an invitation. */
  accept(invitation: RawInput<'auth.accept_invite'>): Promise<SignIn | PendingSignIn>;
  setup(credentials: Credentials): Promise<SignIn>;
  login(credentials: Credentials): Promise<SignIn | PendingSignIn>;
  /** Ends a pending sign-in with its second factor. */
  verify(factor: SecondFactor): Promise<SignIn>;
  logout(): Promise<Problem | undefined>;
  /** The server no longer knows this session. True when there was one to lose. */
  end(): boolean;
  /** Gives up the page that stayed after the session had ended. */
  leave(): void;
}

/** Who is signed in with this browser, shared by its tabs: they have one cookie. */
export interface SharedPerson {
  /** Tells the other tabs. */
  readonly tell: (id: string | undefined) => void;
  /** Hears what other tabs tell. */
  readonly follow: (heard: (id: string | undefined) => void) => void;
}

interface SessionOptions {
  /** What everything but signing in and out passes. */
  readonly gate?: Pick<SessionGate, 'call' | 'halt' | 'resume' | 'end'>;
  /** The session has begun, or goes on after all. */
  readonly onEnter?: () => void;
  readonly shared?: SharedPerson;
}

/** Whose results the tab keeps. */
const PERSON = 'person';

/** @param call for signing in and out, whether or not a session lasts. */
export function createSession(call: Call, { gate, onEnter, shared }: SessionOptions = {}): Session {
  const [state, setState] = createSignal<SessionState>('loading');
  const [account, setAccount] = createSignal<Output<'auth.me'>>();
  const [replaced, setReplaced] = createSignal(false);
  const [version, setVersion] = createSignal('');
  const [ways, setWays] = createSignal<Ways>({ providers: [], password: true });

  const status = async () => {
    const answer = await call('auth.status', {});
    setVersion(answer.version);
    setWays({ providers: answer.providers, password: answer.password_sign_in });
    return answer;
  };

  const resume = () => {
    gate?.resume();
    onEnter?.();
  };

  const enter = async (): Promise<SignIn> => {
    const now = await call('auth.me', {});
    const before = account()?.id;
    // The page, and what the tab keeps, belong to whoever was here before.
    if (before !== undefined && before !== now.id) setState('loading');
    if (tabStorage.read(PERSON) !== now.id) forgetTab();
    tabStorage.write(PERSON, now.id);
    setAccount(now);
    setReplaced(false);
    shared?.tell(now.id);
    // Before pages hear of it: some read at once.
    resume();
    setState('signed_in');
    return 'signed_in';
  };

  const forget = () => {
    gate?.end();
    forgetTab();
    setAccount(undefined);
    setState('anonymous');
  };

  let leaving: Promise<Problem | undefined> | undefined;
  const logout = async (): Promise<Problem | undefined> => {
    // Nothing may reach the server after the session is gone.
    await gate?.halt();
    try {
      await call('auth.logout', {});
    } catch (fault) {
      resume();
      return toProblem(fault);
    }
    forget();
    shared?.tell(undefined);
    // They may be others since this page was opened.
    void status().catch(() => undefined);
    return undefined;
  };

  const end = (): boolean => {
    if (state() !== 'signed_in') return false;
    setState('expired');
    // Until somebody signs in again, each of them would be refused as well.
    void gate?.halt();
    return true;
  };

  /** What this page sends would be done in the name of the person that the cookie is of by now. */
  const isOther = (id: string | undefined): boolean => {
    if (id === undefined || account() === undefined || id === account()?.id) return false;
    setReplaced(true);
    end();
    return true;
  };

  // Heard from outside, at any time.
  // oxlint-disable-next-line solid/reactivity
  shared?.follow((id) => {
    if (isOther(id)) return;
    if (id === undefined) end();
    // Signed in again, in another tab.
    else if (state() === 'expired') void enter().catch(() => undefined);
  });

  return {
    state,
    replaced,
    username: () => account()?.username ?? '',
    role: () => account()?.role,
    may(name) {
      const { least } = routes[name];
      const role = account()?.role;
      return least === null || (role !== undefined && holds(role, least));
    },
    async refresh() {
      try {
        const now = await (gate?.call ?? call)('auth.me', {});
        if (state() !== 'signed_in' || isOther(now.id)) return;
        if (now.role !== account()?.role) setAccount(now);
      } catch (fault) {
        if (toProblem(fault).code === 'unauthenticated') end();
      }
    },
    async rejoin() {
      const answer = await status().catch(() => undefined);
      if (answer?.authenticated !== true) return;
      const now = await call('auth.me', {}).catch(() => undefined);
      if (now === undefined || state() !== 'expired') return;
      // The page of another person, and what is typed there, stays theirs.
      if (!isOther(now.id)) await enter().catch(() => undefined);
    },
    version,
    ways,
    async load() {
      try {
        const { authenticated, setup_required } = await status();
        if (authenticated) await enter();
        else setState(setup_required ? 'setup' : 'anonymous');
      } catch (fault) {
        setState(toProblem(fault).code === 'unauthenticated' ? 'anonymous' : 'unreachable');
      }
    },
    async setup(credentials) {
      try {
        await call('auth.setup', credentials);
        return await enter();
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
        return answer.totp_required ? answer : await enter();
      } catch (fault) {
        return toProblem(fault);
      }
    },
    async accept(invitation) {
      try {
        const answer = await call('auth.accept_invite', invitation);
        return answer.totp_required ? answer : await enter();
      } catch (fault) {
        return toProblem(fault);
      }
    },
    async verify(factor) {
      try {
        const answer = await call('two_factor.login', factor);
        return answer.totp_required ? toProblem(undefined) : await enter();
      } catch (fault) {
        return toProblem(fault);
      }
    },
    logout: () => (leaving ??= logout().finally(() => (leaving = undefined))),
    end,
    leave() {
      if (state() === 'expired') forget();
    },
  };
}

/** Who a page is for. */
export type Audience = 'setup' | 'login' | 'invited' | 'anyone' | 'member';

interface Place {
  readonly path: string;
  readonly search: string;
  readonly origin: string;
}

/** Where the browser has to go before a page for `audience` may be shown; undefined: it may stay. */
export function redirect(state: SessionState, audience: Audience, place: Place): string | undefined {
  if (state === 'loading' || state === 'unreachable' || state === 'expired' || audience === 'anyone') return undefined;
  if (state === 'setup') return audience === 'setup' ? undefined : '/setup';
  // Somebody else's session in this browser keeps nobody from accepting.
  if (audience === 'invited') return undefined;
  if (state === 'anonymous') {
    if (audience === 'login') return undefined;
    const next = audience === 'member' ? `${place.path}${place.search}` : '/';
    return next === '/' ? '/login' : `/login?next=${encodeURIComponent(next)}`;
  }
  if (audience === 'member') return undefined;
  const query = new URLSearchParams(place.search);
  const next = safeNext(query.get('next'), place.origin);
  const refused = query.get('refused');
  // Who is signed in wanted to link an account: their own page says what came of it.
  return refused !== null && (next === '/' || next === '/account') ? `/account?${new URLSearchParams({ refused })}` : next;
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
