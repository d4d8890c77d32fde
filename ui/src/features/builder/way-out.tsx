import type { JSX } from 'solid-js';
import { Button } from '#ui/src/components/button.tsx';
import { LinkButton } from '#ui/src/components/link.tsx';
import type { Problem } from '#ui/src/kernel/problem.ts';
import type { DefinitionDraft } from './definition-draft.ts';

/** What a click can do about a refusal of a preview, a check or a save; undefined: nothing. @param onWritable after *Make writable*. */
export function wayOut(draft: DefinitionDraft, problem: Problem | undefined, onWritable?: () => void): JSX.Element {
  const { connection_id, enabled, read_only } = draft.form.values;
  const concerns = (field: string) => problem?.errors.some((error) => error.field === field) === true;
  if (draft.kind === 'tool' && (problem?.code === 'not_read_only' || concerns('read_only'))) {
    const connection = draft.connections().find(({ id }) => id === connection_id);
    if (connection?.read_only === true)
      return (
        <LinkButton size="small" href={`/connections/${connection.id}`}>
          Open the read-only connection
        </LinkButton>
      );
    const makeWritable = () => {
      draft.change({ read_only: false });
      onWritable?.();
    };
    return read_only === false ? undefined : (
      <Button size="small" onPress={makeWritable}>
        Make writable
      </Button>
    );
  }
  if (problem?.code !== 'sql_error' || !concerns('sql_query') || enabled !== true) return undefined;
  const saveDisabled = () => {
    draft.change({ enabled: false });
    return draft.form.submit();
  };
  return (
    <Button size="small" onPress={saveDisabled}>
      Save disabled
    </Button>
  );
}
