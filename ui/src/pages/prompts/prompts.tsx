import type { Prompt } from '#core/contract/prompts.ts';
import { EntityList } from '#ui/src/components/builder/entity-list.tsx';
import { useKernel } from '#ui/src/kernel/kernel.ts';
import { PROMPT_WORDS as WORDS } from './words.ts';

/** Every prompt. */
export function Prompts() {
  const { call } = useKernel();
  return (
    <EntityList<Prompt>
      noun="prompts"
      icon="message"
      words={WORDS}
      load={(filter, signal) => call('prompts.list', filter, signal)}
      kinds={[]}
      columns={[
        {
          id: 'description',
          head: WORDS.description,
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
      ]}
      menu={({ id }) => [{ label: WORDS.copy, icon: 'copy', href: `/prompts/new?from=${id}` }]}
    />
  );
}
