import { AppError } from '#core/errors.ts';
import { CONFIRM_PATH, createPageQuestions, LONGEST_QUESTION, type PageQuestion } from '#core/edge/confirmation-page.ts';
import { isSignedIn } from '#mcp-host/auth/caller.ts';
import type { CallContext } from '../context.ts';
import { type WriteQuestion, givenArguments, plain, rowsOf, targetOf, titleOf } from './question.ts';

/** Creates the address of the page on which a signed-in person confirms a write. It works for that person alone. */
export interface PageAddresses {
  /**
   * Whether the caller is a person who can sign in to the server with the page. Throws when the call is too long for the page.
   */
  serves(write: WriteQuestion, context: CallContext): boolean;
  of(write: WriteQuestion, context: CallContext, question: QuestionHead): string;
}

type QuestionHead = Pick<PageQuestion, 'nonce' | 'ends_at'>;
/** Has the length of every other head. */
const SOME_HEAD: QuestionHead = { nonce: '00000000-0000-4000-8000-000000000000', ends_at: 1_000_000_000_000 };

/** @param origin the origin at which people reach the server's pages; null: not known. */
export function createPageAddresses(keys: readonly string[], origin: () => string | null): PageAddresses {
  const questions = createPageQuestions(keys);
  const sealed = (write: WriteQuestion, { caller }: CallContext, head: QuestionHead): string => {
    const { tool, changes, before } = write;
    const title = tool.listing['title'];
    const { grant } = caller.claims;
    return questions.seal({
      ...head,
      person: caller.identity.sub ?? '',
      grant: typeof grant === 'string' ? grant : '',
      tool: tool.name,
      title: typeof title === 'string' ? plain(title) : null,
      statement: targetOf(tool),
      direct: changes.direct,
      all: changes.all,
      before: before?.all ?? null,
      arguments: givenArguments(write),
    });
  };
  return {
    serves(write, context) {
      const { caller } = context;
      if (origin() === null || !isSignedIn(caller) || typeof caller.claims['grant'] !== 'string') return false;
      if (sealed(write, context, SOME_HEAD).length <= LONGEST_QUESTION) return true;
      throw new AppError(
        'confirmation_required',
        `${titleOf(write.tool)} would change ${rowsOf(write.changes)}, and a person has to confirm that, but the arguments are too long for the page that shows them. Nothing was changed. Send shorter arguments, such as fewer records per call.`,
      );
    },
    of: (write, context, question) => `${origin() ?? ''}${CONFIRM_PATH}?request=${sealed(write, context, question)}`,
  };
}
