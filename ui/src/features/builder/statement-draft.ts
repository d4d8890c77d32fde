import { type DefinitionDraft, type DefinitionOptions, useDefinitionDraft } from './definition-draft.ts';
import { trimmed } from './parameters/parameters.ts';
import {
  type Becomes,
  type CheckedStatement,
  isReady,
  type Statement,
  type StatementFields,
  useStatement,
} from './use-statement.ts';

/** A tool or a resource that is being edited, with its statement. */
export interface StatementDraft<D extends StatementFields = StatementFields> extends DefinitionDraft<D, CheckedStatement> {
  readonly statement: Statement;
}

interface StatementOptions<
  D extends StatementFields,
  E extends { id: string; name: string; version: number },
  I extends object,
> extends Omit<DefinitionOptions<D, E, I, CheckedStatement>, 'clean'> {
  /** Parameter names from elsewhere, such as the address of a resource, instead of the statement. */
  readonly named?: (values: D) => readonly string[];
  /** How a preview converts the result for a model. */
  readonly becomes: (values: D) => Becomes;
}

export function useStatementDraft<
  D extends StatementFields & Record<string, unknown>,
  E extends { id: string; name: string; version: number },
  I extends object,
>(options: StatementOptions<D, E, I>): StatementDraft<D> {
  const { named, becomes } = options;
  const draft = useDefinitionDraft<D, E, I, CheckedStatement>({
    ...options,
    clean: (values) => ({ ...values, parameters: values.parameters.map(trimmed) }),
    input: (values) => (isReady(values) ? options.input(values) : undefined),
  });
  const statement = useStatement(draft, {
    ...(named === undefined ? {} : { named: () => named(draft.form.values) }),
    becomes: () => becomes(draft.form.values),
  });
  return {
    ...draft,
    statement,
    run() {
      draft.run();
      void statement.run();
    },
  };
}

/** The common input of the server's check. */
export const statementInput = (values: StatementFields) => ({
  connection_id: values.connection_id,
  name: values.name,
  title: values.title,
  description: values.description,
  tags: values.tags,
  sql_query: values.sql_query,
  parameters: values.parameters,
  transform_template: values.transform_template,
  masks: values.masks.filter(({ column }) => column !== ''),
});
