import { createSignal } from 'solid-js';
import { TagsField } from '#ui/src/components/form/tags-field.tsx';
import { WORDS } from './words.ts';

/** What can be chosen, by the name that people know. */
interface Pickable {
  readonly id: string;
  readonly name: string;
}

/** Records chosen by name and kept by id. What was deleted since is not shown, and stays out with the next change. */
export function PickField(props: {
  label: string;
  hint?: string;
  name: string;
  from: readonly Pickable[];
  value: readonly string[];
  onChange: (ids: string[]) => void;
  error: string | undefined;
}) {
  const [unknown, setUnknown] = createSignal<readonly string[]>([]);
  const names = () => props.from.filter(({ id }) => props.value.includes(id)).map(({ name }) => name);
  const choose = (chosen: readonly string[]) => {
    const found = chosen.map((name) => props.from.find((one) => one.name === name));
    setUnknown(chosen.filter((_, n) => found[n] === undefined));
    props.onChange(found.flatMap((one) => one?.id ?? []));
  };
  return (
    <TagsField
      label={props.label}
      hint={props.hint}
      name={props.name}
      value={names()}
      onChange={choose}
      suggestions={props.from.map(({ name }) => name)}
      error={unknown().length > 0 ? WORDS.unknown(unknown()) : props.error}
    />
  );
}
