import type { JSX } from 'solid-js';
import { Switch } from '#ui/src/components/choice.tsx';
import { TextArea, TextField } from '#ui/src/components/field.tsx';
import { Panel } from '#ui/src/components/panel.tsx';
import { TagsField } from '#ui/src/components/tags-field.tsx';
import type { Form } from '#ui/src/kernel/form.ts';

interface AboutWords {
  readonly about: string;
  readonly about_lead?: string;
  readonly name: string;
  readonly name_hint: string;
  readonly display_title: string;
  readonly title_hint?: string;
  readonly description: string;
  readonly description_hint: string;
  readonly tags: string;
  readonly tags_hint?: string;
  readonly enabled: string;
  readonly enabled_hint: string;
}

type About = {
  name: string;
  title: string | null;
  description: string;
  tags: string[];
  enabled: boolean;
};
type Field = keyof About;

/** Name, title, description, tags: what a definition is found and chosen by. */
export function AboutPanel<D extends About>(props: {
  form: Pick<Form<D>, 'values' | 'set' | 'text' | 'flag'>;
  error: (field: Field) => string | undefined;
  tags: readonly string[];
  words: AboutWords;
  /** What stands between the description and the tags. */
  children?: JSX.Element;
}) {
  return (
    <Panel title={props.words.about} lead={props.words.about_lead}>
      <div class="panel-body stack">
        <div class="grid-2">
          <TextField
            label={props.words.name}
            required
            mono
            hint={props.words.name_hint}
            {...props.form.text('name')}
            error={props.error('name')}
          />
          <TextField
            label={props.words.display_title}
            optional
            hint={props.words.title_hint}
            {...props.form.text('title')}
            error={props.error('title')}
          />
        </div>
        <TextArea
          label={props.words.description}
          required
          rows={4}
          hint={props.words.description_hint}
          {...props.form.text('description')}
          error={props.error('description')}
        />
        {props.children}
        <TagsField
          label={props.words.tags}
          optional
          hint={props.words.tags_hint}
          value={props.form.values.tags}
          onChange={(tags) => props.form.set('tags', tags)}
          suggestions={props.tags}
          error={props.error('tags')}
        />
        <Switch label={props.words.enabled} hint={props.words.enabled_hint} {...props.form.flag('enabled')} />
      </div>
    </Panel>
  );
}
