import { createMemo, createSignal, For, Match, Show, Switch } from 'solid-js';
import { passesFocus } from '#ui/src/components/form/passes-focus.ts';
import { plural } from '#ui/src/kernel/words.ts';
import { CopyButton } from './code-block.tsx';

/** JSON as a tree; levels below `open` begin closed, and those that would make it longer than a browser draws at once. */
export function JsonView(props: { value: unknown; label: string; open?: number }) {
  return (
    <div class="json" role="group" aria-label={props.label} tabindex="0">
      <Node value={props.value} depth={0} open={openOf(props.value, props.open ?? 2)} last />
      <CopyButton text={JSON.stringify(props.value, null, 2) ?? ''} label={props.label} />
    </div>
  );
}

const SHOWN_AT_ONCE = 100;
const LINES_AT_ONCE = 1_500;

/** As many levels as make no more lines than are drawn at once; the first is always open. */
function openOf(value: unknown, most: number): number {
  let lines = 0;
  let level = [value];
  for (let depth = 0; depth < most; depth++) {
    level = level.flatMap((one) => (isTree(one) ? Object.values(one).slice(0, SHOWN_AT_ONCE) : []));
    lines += level.length;
    if (lines > LINES_AT_ONCE) return Math.max(1, depth);
  }
  return most;
}

function Node(props: { name?: string; value: unknown; depth: number; open: number; last: boolean }) {
  const entries = createMemo(() => (isTree(props.value) ? Object.entries(props.value) : []));
  const list = () => Array.isArray(props.value);
  const key = () => (
    <Show when={props.name !== undefined}>
      <span class="json-key">{JSON.stringify(props.name)}</span>
      {': '}
    </Show>
  );
  return (
    <Switch
      fallback={
        <div class="json-line">
          {key()}
          <Leaf value={props.value} />
          {props.last ? '' : ','}
        </div>
      }
    >
      <Match when={isTree(props.value) && entries().length === 0}>
        <div class="json-line">
          {key()}
          {list() ? '[]' : '{}'}
          {props.last ? '' : ','}
        </div>
      </Match>
      <Match when={isTree(props.value)}>
        <Branch name={props.name} entries={entries()} list={list()} depth={props.depth} open={props.open} last={props.last} />
      </Match>
    </Switch>
  );
}

function Branch(props: {
  name: string | undefined;
  entries: readonly [string, unknown][];
  list: boolean;
  depth: number;
  open: number;
  last: boolean;
}) {
  // Where it begins is decided once; afterwards the person decides.
  // oxlint-disable-next-line solid/reactivity
  const [open, setOpen] = createSignal(props.depth < props.open);
  const [limit, setLimit] = createSignal(SHOWN_AT_ONCE);
  const size = () => (props.list ? plural(props.entries.length, 'item') : plural(props.entries.length, 'key'));
  return (
    <details open={open()} onToggle={(event) => setOpen(event.currentTarget.open)}>
      <summary>
        <Show when={props.name !== undefined}>
          <span class="json-key">{JSON.stringify(props.name)}</span>
          {': '}
        </Show>
        {props.list ? '[' : '{'}
        <Show when={!open()}>
          <span class="json-size"> {size()} </span>
          {props.list ? ']' : '}'}
        </Show>
      </summary>
      <Show when={open()}>
        <div class="json-inside">
          <For each={props.entries.slice(0, limit())}>
            {([name, value], index) => (
              <Node
                {...(props.list ? {} : { name })}
                value={value}
                depth={props.depth + 1}
                open={props.open}
                last={index() === props.entries.length - 1}
              />
            )}
          </For>
          <Show when={props.entries.length > limit()}>
            <button ref={passesFocus} type="button" class="link-button" onClick={() => setLimit(limit() + SHOWN_AT_ONCE * 5)}>
              {plural(props.entries.length - limit(), 'more', 'more')}
            </button>
          </Show>
        </div>
        <div class="json-line">
          {props.list ? ']' : '}'}
          {props.last ? '' : ','}
        </div>
      </Show>
    </details>
  );
}

function Leaf(props: { value: unknown }) {
  return (
    <span class="json-leaf" data-type={props.value === null ? 'null' : typeof props.value}>
      {JSON.stringify(props.value) ?? 'undefined'}
    </span>
  );
}

const isTree = (value: unknown): value is object => typeof value === 'object' && value !== null;
