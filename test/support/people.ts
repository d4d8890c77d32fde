import type { Answer, TestApp } from './app.ts';

/** Somebody who signed in, with a cookie of their own. */
export interface Member {
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
    const keep = (answer: Answer): Answer => {
      cookie = answer.headers.get('set-cookie')?.split(';')[0] ?? cookie;
      return answer;
    };
    keep(first);
    return {
      id,
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
    async join(by: Member, draft: { readonly username: string } & Record<string, unknown>): Promise<Member> {
      const { body } = await by.ask('POST', 'people', draft);
      const id = String(body['id']);
      const { invite_url } = (await by.ask('POST', `people/${id}/invite`, {})).body;
      const token = new URL(String(invite_url)).hash.slice(1);
      const accepted = await t.request('POST', '/api/v1/auth/accept-invite', {
        anonymous: true,
        body: { token, password: PASSWORD },
      });
      return member(id, draft.username, accepted);
    },
  };
}
