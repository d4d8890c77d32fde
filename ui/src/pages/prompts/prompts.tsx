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
        {
          id: 'arguments',
          head: 'Arguments',
          narrow: 'hide',
          align: 'end',
          sort: (prompt) => prompt.arguments.length,
          cell: (prompt) => <span class="num">{prompt.arguments.length}</span>,
        },
        {
          id: 'tokens',
          head: 'Tokens',
          narrow: 'hide',
          align: 'end',
          sort: ({ tokens }) => tokens,
          cell: (prompt) => <span class="num">{count(prompt.tokens)}</span>,
        },
      ]}
      menu={({ id }) => [{ label: 'Duplicate', icon: 'copy', href: `/prompts/new?from=${id}` }]}
    />
  );
}
