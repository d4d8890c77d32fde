import { For, type JSX } from 'solid-js';
import { Panel } from '#ui/src/components/panel.tsx';
import { FormField } from '#ui/src/fields/form-field.tsx';
import type { Form } from '#ui/src/kernel/form/form.ts';

const FIELDS = ['description', 'tags', 'enabled'] as const;
type Field = 'name' | 'title' | (typeof FIELDS)[number];

/** Name, title, description, tags: what a definition is found and chosen by. */
export function AboutPanel<D extends Record<string, unknown>>(props: {
  form: Form<D>;
  error: (field: Field) => string | undefined;
  tags: readonly string[];
  title: string;
  lead?: string;
  /** Stands in place of the contract's help. */
  hints?: Partial<Readonly<Record<Field, string>>>;
  /** What is found in a field, below it. */
  notes?: (field: Field) => JSX.Element;
  /** What stands between the description and the tags. */
  children?: JSX.Element;
}) {
  const own = (name: Field) => (
    <div class="stack" data-gap="2">
      <FormField form={props.form} name={name} hint={props.hints?.[name]} error={props.error(name)} suggestions={props.tags} />
      {props.notes?.(name)}
    </div>
  );
  return (
    <Panel title={props.title} lead={props.lead}>
      <div class="grid-2">
        {own('name')}
        {own('title')}
      </div>
      <For each={FIELDS}>
        {(name) => (
          <>
            {own(name)}
            {name === 'description' ? props.children : undefined}
          </>
        )}
      </For>
    </Panel>
  );
}
