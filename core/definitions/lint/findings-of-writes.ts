import type { WithSources } from '#core/sources/source-pool.ts';
import type { WithLint } from '#core/definitions/lint/lint-index.ts';
import type { WithSnapshots } from '#core/versions/stored-snapshots.ts';
import type { WithWorkingCopy } from '#core/versions/working-copy.ts';
import { afterCommit } from '#core/platform/after-commit.ts';
import { DEFINITION_KINDS, type DefinitionKind, ENTITIES } from '#core/contract/entities.ts';
import type { Context, Handlers } from '#core/context/context.ts';
import { lintStored } from './lint-index.ts';

type LintApp = WithSources & WithLint & WithSnapshots & WithWorkingCopy;

const BATCH = 'agent.create_tools_batch';

/** Null: they could not be read. What was written stays written, and the answer has no findings. */
const findingsOf = ({ app }: Context<LintApp>, kind: DefinitionKind, ids: readonly string[]) =>
  afterCommit(app, 'reading the findings', () => lintStored(app, kind, ids));

type Write<A extends LintApp> = (context: Context<A>, input: never) => Promise<{ readonly id: string }>;

/**
 * Handlers whose creates and updates tell an agent at once what lint finds in what it wrote. People see it where they write, and
 * what a script sends is not held up.
 */
export function withFindings<A extends LintApp>(handlers: Handlers<A>): Handlers<A> {
  const wrapped = DEFINITION_KINDS.flatMap((kind) =>
    ['create', 'update'].map((verb) => {
      const name = `${ENTITIES[kind].plural}.${verb}` as keyof Handlers<A>;
      const write = handlers[name] as unknown as Write<A>;
      const answer = async (context: Context<A>, input: never) => {
        const record = await write(context, input);
        if (context.by_name !== true) return record;
        const found = await findingsOf(context, kind, [record.id]);
        return found === null ? record : { ...record, findings: found.get(record.id) ?? [] };
      };
      return [name, answer] as const;
    }),
  );
  const inBatch: Handlers<A>[typeof BATCH] = async (context, input) => {
    const answer = await handlers[BATCH](context, input);
    const ids = answer.created.map(({ id }) => id);
    const found = await findingsOf(context, 'tool', ids);
    if (found === null) return answer;
    return { ...answer, created: answer.created.map((tool) => ({ ...tool, findings: found.get(tool.id) ?? [] })) };
  };
  return {
    ...handlers,
    ...(Object.fromEntries(wrapped) as Partial<Handlers<A>>),
    [BATCH]: inBatch,
  };
}
