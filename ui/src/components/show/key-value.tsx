import { For, type JSX, Show } from 'solid-js';
import { CopyButton } from './code-block.tsx';
import { Sentence } from './sentence.tsx';

interface KeyValueItem {
  readonly label: string;
  readonly value: JSX.Element;
  readonly mono?: boolean;
  /** What a button beside it copies. */
  readonly copy?: string | undefined;
}

export function KeyValue(props: { items: readonly (KeyValueItem | false | undefined)[] }) {
  return (
    <dl class="key-value">
      <For each={props.items.filter((item) => item !== false && item !== undefined)}>
        {(item) => (
          <div>
            <dt>{item.label}</dt>
            <dd classList={{ mono: item.mono === true }}>
              <Sentence>{item.value}</Sentence>
              <Show when={item.copy}>{(text) => <CopyButton text={text()} label={item.label} />}</Show>
            </dd>
          </div>
        )}
      </For>
    </dl>
  );
}
