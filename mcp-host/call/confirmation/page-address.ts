import { CONFIRM_PATH, createPageQuestions, LONGEST_QUESTION, type PageQuestion } from '#core/edge/confirmation-page.ts';
import { isSignedIn } from '#mcp-host/auth/caller.ts';
import type { CallContext } from '../context.ts';
import { type AskedWrite, plain, shownArguments, targetOf } from './question.ts';

/** Makes the address of the page on which a signed-in person confirms; it is of no use to anybody else. */
export interface PageAddresses {
  /** Whether the caller is a person who can sign in to the server that has the page. */
  serves(context: CallContext): boolean;
  of(asked: AskedWrite, context: CallContext, question: { readonly nonce: string; readonly ends_at: number }): string;
}

/** @param origin of the server's pages, as people reach it; null: not known. */
export function createPageAddresses(keys: readonly string[], origin: () => string | null): PageAddresses {
  const questions = createPageQuestions(keys);
  return {
    serves: ({ caller }) => origin() !== null && isSignedIn(caller) && typeof caller.claims['grant'] === 'string',
    of(asked, { caller }, { nonce, ends_at }) {
      const { tool, changes, before } = asked;
      const { shown, more } = shownArguments(asked);
      const title = tool.listing['title'];
      const { grant } = caller.claims;
      const question: PageQuestion = {
        nonce,
        person: caller.identity.sub ?? '',
        grant: typeof grant === 'string' ? grant : '',
        tool: tool.name,
        title: typeof title === 'string' ? plain(title) : null,
        statement: targetOf(tool),
        direct: changes.direct,
        all: changes.all,
        before: before?.all ?? null,
        arguments: shown,
        more,
        ends_at,
      };
      return `${origin() ?? ''}${CONFIRM_PATH}?request=${sealed(question)}`;
    },
  };

  /** Arguments that make the address too long for proxies are counted instead of shown. */
  function sealed(question: PageQuestion): string {
    const text = questions.seal(question);
    if (text.length <= LONGEST_QUESTION || question.arguments.length === 0) return text;
    return sealed({ ...question, arguments: question.arguments.slice(0, -1), more: question.more + 1 });
  }
}
