import { For } from 'solid-js';

/** A name that breaks behind its underscores, where it needs more than a line. */
export function Breakable(props: { text: string }) {
  return (
    <For each={props.text.split(/(?<=_)(?!_)/)}>
      {(part) => (
        <>
          {part}
          <wbr />
        </>
      )}
    </For>
  );
}
