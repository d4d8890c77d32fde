import type { Answer, TestApp } from './app.ts';
import type { Calls, SendOptions } from './calls.ts';

/** Somebody who signed in, with a cookie of their own: `call` and `send` are theirs. */
export interface Member extends Calls {
  readonly id: string;
  /** Below `/api/v1/`; errors come with their code. */
  ask(method: string, path: string, body?: unknown): Promise<Answer>;
  /** Signs in anew with the password; keeps the new cookie. */
  signIn(): Promise<Answer>;
}

export const PASSWORD = 'correct horse';

/** People of a test server. */
export function peopleOf(t: TestApp) {
  const member = (id: string, username: string, first: Answer): Member => {
    let cookie = '';
    const asMember = (options: SendOptions = {}) => ({ anonymous: true, headers: { cookie, ...options.headers } });
    const keep = (answer: Answer): Answer => {
      cookie = answer.headers.get('set-cookie')?.split(';')[0] ?? cookie;
      return answer;
    };
    keep(first);
    return {
      id,
      call: (name, input, options) => t.call(name, input, asMember(options)),
      send: (name, input, options) => t.send(name, input, asMember(options)),
      ask: (method, path, body) =>
        t.request(method, `/api/v1/${path}`, {
          anonymous: true,
          headers: { cookie, accept: 'application/problem+json' },
          ...(body === undefined ? {} : { body }),
        }),
      signIn: async () =>
        keep(await t.request('POST', '/api/v1/auth/login', { anonymous: true, body: { username, password: PASSWORD } })),
    };
  };
  return {
    async owner(username = 'ada'): Promise<Member> {
      const made = await t.request('POST', '/api/v1/auth/setup', { anonymous: true, body: { username, password: PASSWORD } });
      const [row] = await t.app.store.db.select().from(t.app.store.tables.people);
      return member(row?.id ?? '', username, made);
    },
    /** Somebody whom `by` invites and who accepts. */
    async join(by: Pick<Member, 'call'>, draft: { readonly username: string } & Record<string, unknown>): Promise<Member> {
      const { id } = await by.call('people.create', draft);
      const { invite_url } = await by.call('people.invite', { id });
      const token = new URL(invite_url).hash.slice(1);
      const accepted = await t.send('auth.accept_invite', { token, password: PASSWORD }, { anonymous: true });
      return member(id, draft.username, accepted);
    },
  };
}
