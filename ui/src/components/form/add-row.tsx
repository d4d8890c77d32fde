import { Show } from 'solid-js';
import { Button } from '#ui/src/components/button.tsx';

/** Under a list of rows: what is wrong with the list, and the button that adds a row. */
export function AddRow(props: { label: string; error?: string | undefined; blocked?: boolean; onPress: () => void }) {
  return (
    <>
      <Show when={props.error}>{(sentence) => <p class="field-error">{sentence()}</p>}</Show>
      <div class="row">
        <Button size="small" icon="plus" blocked={props.blocked === true} onPress={() => props.onPress()}>
          {props.label}
        </Button>
      </div>
    </>
  );
}
