import { DEFINITION_KINDS, ENTITIES } from '#core/contract/entities.ts';
import type { Context, Handlers } from '#core/run.ts';
import { lintStored } from './lint.ts';

const BATCH = 'agent.create_tools_batch';

type Write = (context: Context, input: never) => Promise<{ readonly id: string }>;

/**
 * Handlers whose creates and updates tell an agent at once what lint finds in what it wrote. People see it where they write, and
 * what a script sends is not held up.
 */
export function withFindings(handlers: Handlers): Handlers {
  const wrapped = DEFINITION_KINDS.flatMap((kind) =>
    ['create', 'update'].map((verb) => {
      const name = `${ENTITIES[kind].plural}.${verb}` as keyof Handlers;
      const write = handlers[name] as Write;
      const answer = async (context: Context, input: never) => {
        const record = await write(context, input);
        if (context.by_name !== true) return record;
        const found = await lintStored(context.app, kind, [record.id]);
        return { ...record, findings: found.get(record.id) ?? [] };
      };
      return [name, answer] as const;
    }),
  );
  const inBatch: Handlers[typeof BATCH] = async (context, input) => {
    const answer = await handlers[BATCH](context, input);
    const found = await lintStored(
      context.app,
      'tool',
      answer.created.map(({ id }) => id),
    );
    return { ...answer, created: answer.created.map((tool) => ({ ...tool, findings: found.get(tool.id) ?? [] })) };
  };
  return {
    ...handlers,
    ...(Object.fromEntries(wrapped) as Partial<Handlers>),
    [BATCH]: inBatch,
  };
}
