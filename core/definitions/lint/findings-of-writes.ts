import { afterCommit } from '#core/platform/after-commit.ts';
import { DEFINITION_KINDS, type DefinitionKind, ENTITIES } from '#core/contract/entities.ts';
import type { OperationName } from '#core/contract/index.ts';
import type { RequestContext } from '#core/context/context.ts';
import { type LintApp, lintStored } from './lint-index.ts';

/** The kind of definition that an operation writes, by its name. */
const WRITES: ReadonlyMap<string, DefinitionKind> = new Map(
  DEFINITION_KINDS.flatMap((kind) => ['create', 'update'].map((verb) => [`${ENTITIES[kind].plural}.${verb}`, kind] as const)),
);

interface Written {
  readonly id: string;
}

/**
 * Adds lint findings to the answer of a write by an agent. People see them in the editor, and scripts do not wait for them. Runs after
 * the write is committed: if the findings cannot be read, the answer has none.
 */
export async function withFindings(
  app: LintApp,
  { by_name }: Pick<RequestContext, 'by_name'>,
  operation: OperationName,
  answer: unknown,
): Promise<unknown> {
  if (by_name !== true) return answer;
  if (operation === 'agent.create_tools_batch') {
    const { created, ...rest } = answer as { readonly created: readonly Written[] };
    return { ...rest, created: await addFindings(app, 'tool', created) };
  }
  const kind = WRITES.get(operation);
  return kind === undefined ? answer : (await addFindings(app, kind, [answer as Written]))[0];
}

async function addFindings(app: LintApp, kind: DefinitionKind, written: readonly Written[]): Promise<readonly Written[]> {
  const ids = written.map(({ id }) => id);
  const found = await afterCommit(app, 'reading the findings', () => lintStored(app, kind, ids));
  return found === null ? written : written.map((one) => ({ ...one, findings: found.get(one.id) ?? [] }));
}
