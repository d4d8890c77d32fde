import { For, type JSX } from 'solid-js';
import { Panel } from '#ui/src/components/panel.tsx';
import { LintNotes } from '#ui/src/features/checks/lint-notes.tsx';
import { FormField } from '#ui/src/fields/form-field.tsx';
import type { DefinitionDraft } from './definition-draft.ts';

const FIELDS = ['description', 'tags', 'enabled'] as const;
type Field = 'name' | 'title' | (typeof FIELDS)[number];

/** Help texts that replace those of the contract. */
const HINTS: Readonly<Record<DefinitionDraft['kind'], Partial<Readonly<Record<Field, string>>>>> = {
  tool: {},
  resource: { name: 'Letters, digits, _ and -.', description: 'What it holds and when to read it.' },
  prompt: { name: 'Letters, digits, _ and -. Clients often show it as /name.', description: 'What the request is for.' },
};

/** Name, title, description and tags of a definition. */
export function AboutPanel(props: {
  draft: DefinitionDraft;
  /** Content between the description and the tags. */
  children?: JSX.Element;
}) {
  const field = (name: Field) => (
    <div class="stack" data-gap="2">
      <FormField
        form={props.draft.form}
        name={name}
        hint={HINTS[props.draft.kind][name]}
        error={props.draft.error(name)}
        suggestions={props.draft.tags()}
      />
      <LintNotes findings={props.draft.check.lint(name)} onFix={(changes) => props.draft.change(changes)} />
    </div>
  );
  return (
    <Panel
      title={`About the ${props.draft.kind}`}
      lead={props.draft.kind === 'tool' ? 'A model decides from these texts whether to call the tool.' : undefined}
    >
      <div class="grid-2">
        {field('name')}
        {field('title')}
      </div>
      <For each={FIELDS}>
        {(name) => (
          <>
            {field(name)}
            {name === 'description' ? props.children : undefined}
          </>
        )}
      </For>
    </Panel>
  );
}
