import { TagsField } from '#ui/src/components/form/tags-field.tsx';
import { namesOf, type Pickable, picksOf, unknownFault } from './picks.ts';

/** Records selected by name and stored by id. Deleted records are hidden, and dropped with the next change. */
export function PickField(props: {
  label: string;
  hint?: string | undefined;
  name: string;
  from: readonly Pickable[];
  value: readonly string[];
  onChange: (ids: string[]) => void;
  error: string | undefined;
}) {
  return (
    <TagsField
      label={props.label}
      hint={props.hint}
      name={props.name}
      value={namesOf(props.value, props.from)}
      onChange={(names) => props.onChange(picksOf(names, props.from))}
      suggestions={props.from.map(({ name }) => name)}
      error={unknownFault(props.value) ?? props.error}
    />
  );
}
