import { createSignal } from 'solid-js';
import { forgetTab, tabStorage } from './storage.ts';
import { holds, type Role } from '#core/contract/roles.ts';
import type { OperationName, Output, RawInput } from '#core/contract/index.ts';
import { routes } from '#core/contract/routes.ts';
import type { Call } from '../api.ts';
import type { SessionGate } from './data/session-gate.ts';
import { safeNext } from './route/router.ts';
import { type Problem, toProblem } from './problem.ts';

/** `expired`: the session ended while a page was open; the page stays until the person signs in again or leaves. */
export type SessionState = 'loading' | 'unreachable' | 'setup' | 'anonymous' | 'expired' | 'signed_in';

export interface Credentials {
  readonly username: string;
  readonly password: string;
}

/** The password was correct, and the account has a second factor: the token is sent with the code, within `expires_in` seconds. */
export interface PendingSignIn {
  readonly pending_token: string;
  readonly expires_in: number;
}

export interface SecondFactor {
  readonly pending_token: string;
  readonly code: string;
  readonly is_recovery: boolean;
}

/** The result of a sign-in. */
export type SignIn = 'signed_in' | Problem;

interface Ways {
  readonly providers: readonly { readonly id: string; readonly name: string }[];
  /** Whether passwords are allowed. */
  readonly password: boolean;
}

export interface Session {
  readonly state: () => SessionState;
  readonly username: () => string;
  /** Role of the signed-in person; undefined before. */
  readonly role: () => Role | undefined;
  /** Whether the person's role may call an operation. */
  readonly may: (name: OperationName) => boolean;
  /** Version of the server. */
  readonly version: () => string;
  /** Whether the first account needs the setup token of the server. */
  readonly setup_token_required: () => boolean;
  /** The sign-in methods of this server. */
  readonly ways: () => Ways;
  load(): Promise<void>;
  /** Reads the signed-in person and role: an administrator may have changed it, and another tab may have signed in another person. */
  refresh(): Promise<void>;
  /** Resumes an expired session after the person signed in again in another tab. */
  rejoin(): Promise<void>;
  /** Whether the session ended because another person signed in with this browser. */
  readonly replaced: () => boolean;
  /** Accepts an invitation. */
  accept(invitation: RawInput<'auth.accept_invite'>): Promise<SignIn | PendingSignIn>;
  setup(credentials: RawInput<'auth.setup'>): Promise<SignIn>;
  login(credentials: Credentials): Promise<SignIn | PendingSignIn>;
  /** Completes a pending sign-in with its second factor. */
  verify(factor: SecondFactor): Promise<SignIn>;
  logout(): Promise<Problem | undefined>;
  /** Marks the session as ended. True when there was one. */
  end(): boolean;
  /** Closes the page that stayed open after the session had ended. */
  leave(): void;
}

/** The signed-in person of this browser, shared by its tabs, which have one cookie. */
export interface SharedPerson {
  /** Notifies the other tabs. */
  readonly tell: (id: string | undefined) => void;
  /** Subscribes to notifications of other tabs. */
  readonly follow: (onPerson: (id: string | undefined) => void) => void;
}

interface SessionOptions {
  /** The gate of all requests except signing in and out. */
  readonly gate?: Pick<SessionGate, 'call' | 'halt' | 'resume' | 'end'>;
  /** Called when the session starts or resumes. */
  readonly onEnter?: () => void;
  readonly shared?: SharedPerson;
}

/** The person whose results are in the tab's storage. */
const PERSON = 'person';

/** @param call for signing in and out, without the gate. */
export function createSession(call: Call, { gate, onEnter, shared }: SessionOptions = {}): Session {
  const [state, setState] = createSignal<SessionState>('loading');
  const [account, setAccount] = createSignal<Output<'auth.me'>>();
  const [replaced, setReplaced] = createSignal(false);
  const [version, setVersion] = createSignal('');
  const [setup_token_required, setSetupTokenRequired] = createSignal(false);
  const [ways, setWays] = createSignal<Ways>({ providers: [], password: true });

  const status = async () => {
    const answer = await call('auth.status', {});
    setVersion(answer.version);
    setSetupTokenRequired(answer.setup_token_required === true);
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
    // The page and the tab's storage belong to the previous person.
    if (before !== undefined && before !== now.id) setState('loading');
    if (tabStorage.read(PERSON) !== now.id) forgetTab();
    tabStorage.write(PERSON, now.id);
    setAccount(now);
    setReplaced(false);
    shared?.tell(now.id);
    // Before pages are notified, because some read at once.
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
    // No request may reach the server after the sign-out.
    await gate?.halt();
    try {
      await call('auth.logout', {});
    } catch (fault) {
      resume();
      return toProblem(fault);
    }
    forget();
    shared?.tell(undefined);
    // The sign-in methods may have changed since this page was opened.
    void status().catch(() => undefined);
    return undefined;
  };

  const end = (): boolean => {
    if (state() !== 'signed_in') return false;
    setState('expired');
    // Until the next sign-in, every request would be refused.
    void gate?.halt();
    return true;
  };

  /** The cookie belongs to another person: requests of this page would run in their name. */
  const isOther = (id: string | undefined): boolean => {
    if (id === undefined || account() === undefined || id === account()?.id) return false;
    setReplaced(true);
    end();
    return true;
  };

  // Called from outside, at any time.
  // oxlint-disable-next-line solid/reactivity
  shared?.follow((id) => {
    if (isOther(id)) return;
    if (id === undefined) end();
    // The person signed in again in another tab.
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
      // The page and its input belong to another person and stay unchanged.
      if (!isOther(now.id)) await enter().catch(() => undefined);
    },
    version,
    setup_token_required,
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
        // Another person was faster: the account exists, so this is a sign-in from now on.
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

/** The audience of a page. */
export type Audience = 'setup' | 'login' | 'invited' | 'anyone' | 'member';

interface Address {
  readonly path: string;
  readonly search: string;
  readonly origin: string;
}

/** The redirect before a page for `audience` may be shown; undefined: no redirect. */
export function redirect(state: SessionState, audience: Audience, address: Address): string | undefined {
  if (state === 'loading' || state === 'unreachable' || state === 'expired' || audience === 'anyone') return undefined;
  if (state === 'setup') return audience === 'setup' ? undefined : '/setup';
  // An invitation can be accepted although another person is signed in with this browser.
  if (audience === 'invited') return undefined;
  if (state === 'anonymous') {
    if (audience === 'login') return undefined;
    const next = audience === 'member' ? `${address.path}${address.search}` : '/';
    return next === '/' ? '/login' : `/login?next=${encodeURIComponent(next)}`;
  }
  if (audience === 'member') return undefined;
  const query = new URLSearchParams(address.search);
  const next = safeNext(query.get('next'), address.origin);
  const refused = query.get('refused');
  // The signed-in person was linking an account, so the Account page shows the error.
  return refused !== null && (next === '/' || next === '/account') ? `/account?${new URLSearchParams({ refused })}` : next;
}

/** Checks before the request: both fields are required, and a new password has a minimum length. */
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
