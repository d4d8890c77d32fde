import type { Prompt } from '#core/contract/definitions/prompts.ts';
import { count } from '#ui/src/kernel/numbers.ts';
import { EntityList } from '#ui/src/features/builder/definitions/entity-list.tsx';

/** Every prompt. */
export function Prompts() {
  return (
    <EntityList<Prompt>
      noun="prompts"
      load={(read, filter) => read('prompts.list', filter)}
      kinds={[]}
      columns={[
        {
          id: 'description',
          head: 'Description',
          narrow: 'hide',
          width: '32%',
          cell: (prompt) => <span class="small clamp">{prompt.description}</span>,
        },
        { id: 'arguments', head: 'Arguments', narrow: 'wide', num: (prompt) => prompt.arguments.length },
        { id: 'tokens', head: 'Tokens', narrow: 'medium', num: ({ tokens }) => tokens, as: count },
      ]}
      menu={({ id }) => [{ label: 'Duplicate', icon: 'copy', href: `/prompts/new?from=${id}` }]}
    />
  );
}
