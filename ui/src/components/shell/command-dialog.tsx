import { Breakable } from '#ui/src/components/show/breakable.tsx';
import * as Kobalte from '@kobalte/core/dialog';
import { createEffect, createMemo, createSignal, createUniqueId, For, on, onCleanup, Show } from 'solid-js';
import { type Command, COMMAND_GROUPS, type Found } from '#ui/src/kernel/commands.ts';
import { rank } from '#ui/src/kernel/fuzzy.ts';
import { useKernel } from '#ui/src/kernel/kernel.ts';
import { focusThereAndBack } from '#ui/src/components/dialog.tsx';
import { Icon } from '#ui/src/components/icon.tsx';

interface Row {
  readonly group: string;
  readonly title: string;
  readonly hint?: string | undefined;
  readonly key?: string | undefined;
  readonly run: () => void;
}

/** Pause in typing before the search request is sent. */
const PAUSE_MS = 120;

/** All commands and pages, found by typing. */
export function CommandDialog(props: { onClose: () => void }) {
  return (
    <Kobalte.Root
      open
      onOpenChange={(open) => {
        if (!open) props.onClose();
      }}
    >
      <Kobalte.Portal>
        <Kobalte.Overlay class="overlay" />
        <div class="overlay-place" data-top="true">
          <Kobalte.Content class="dialog palette" aria-label="Commands" {...focusThereAndBack()}>
            <Palette onClose={props.onClose} />
          </Kobalte.Content>
        </div>
      </Kobalte.Portal>
    </Kobalte.Root>
  );
}

function Palette(props: { onClose: () => void }) {
  const { commands } = useKernel();
  const id = createUniqueId();
  const [search, setSearch] = createSignal('');
  const [active, setActive] = createSignal(0);
  const found = createFound(search);
  let list: HTMLDivElement | undefined;

  const rows = createMemo<readonly Row[]>(() => {
    const possible = commands.all().filter((command) => command.enabled?.() !== false && command.id !== 'commands');
    const fitting = rank(search(), possible, (command) => `${command.title} ${command.keywords ?? ''} ${command.group}`);
    // The group of the best match is first.
    const groups = search().trim() === '' ? COMMAND_GROUPS : new Set(fitting.map(({ group }) => group));
    const grouped = [...groups].flatMap((group) => fitting.filter((one) => one.group === group));
    return [...grouped.map(toRow(commands.keys())), ...found()];
  });
  createEffect(on(search, () => setActive(0)));

  const choose = (row: Row | undefined) => {
    if (row === undefined) return;
    props.onClose();
    // After the dialog has restored the focus, so that a command may move it.
    setTimeout(row.run);
  };
  const press = (event: KeyboardEvent) => {
    const last = rows().length - 1;
    const to = {
      ArrowDown: active() >= last ? 0 : active() + 1,
      ArrowUp: active() <= 0 ? last : active() - 1,
      Home: 0,
      End: last,
    }[event.key];
    if (event.key === 'Enter') {
      event.preventDefault();
      choose(rows()[active()]);
    } else if (to !== undefined && (event.key.startsWith('Arrow') || search() === '')) {
      event.preventDefault();
      setActive(Math.max(0, to));
      list?.querySelector(`[data-row="${active()}"]`)?.scrollIntoView({ block: 'nearest' });
    }
  };

  return (
    <>
      <div class="palette-search">
        <Icon name="search" />
        <input
          data-autofocus=""
          autofocus
          type="text"
          role="combobox"
          autocomplete="off"
          spellcheck={false}
          placeholder="Find a page, a tool, a command…"
          aria-label="Find a command"
          aria-expanded="true"
          aria-controls={`${id}-list`}
          aria-activedescendant={rows().length > 0 ? `${id}-${active()}` : undefined}
          value={search()}
          onInput={(event) => setSearch(event.currentTarget.value)}
          onKeyDown={press}
        />
        <kbd>Esc</kbd>
      </div>
      <div
        ref={(element) => {
          list = element;
        }}
        class="palette-list"
        role="listbox"
        id={`${id}-list`}
        aria-label="Commands"
      >
        <For each={rows()} fallback={<p class="palette-none soft">No results</p>}>
          {(row, index) => (
            <>
              <Show when={rows()[index() - 1]?.group !== row.group}>
                <div class="palette-group" role="presentation">
                  {row.group}
                </div>
              </Show>
              <div
                role="option"
                id={`${id}-${index()}`}
                data-row={index()}
                class="command"
                aria-selected={active() === index()}
                onPointerMove={() => setActive(index())}
                onClick={() => choose(row)}
              >
                <span class="command-title">
                  <Breakable text={row.title} />
                </span>
                <Show when={row.hint}>
                  <span class="command-hint">{row.hint}</span>
                </Show>
                <Show when={row.key}>{(key) => <kbd>{key()}</kbd>}</Show>
              </div>
            </>
          )}
        </For>
      </div>
    </>
  );
}

const toRow =
  (keys: boolean) =>
  (command: Command): Row => ({
    group: command.group,
    title: command.title,
    key: keys ? command.key : undefined,
    run: command.run,
  });

/** Records found by the server, requested when the typing pauses. */
function createFound(search: () => string): () => readonly Row[] {
  const { commands, presence } = useKernel();
  const [rows, setRows] = createSignal<readonly Row[]>([]);
  let current: AbortController | undefined;
  const ask = async (query: string) => {
    const mine = new AbortController();
    current = mine;
    const lists = await Promise.all(
      commands.finders().map(async ({ group, find }) => {
        const list = await find(query, mine.signal).catch((): readonly Found[] => []);
        return list.map((one): Row => ({ group, title: one.title, hint: one.hint, run: one.run }));
      }),
    );
    await presence.released();
    if (mine === current) setRows(lists.flat());
  };
  createEffect(
    on(search, (text) => {
      current?.abort();
      const query = text.trim();
      if (query === '') {
        setRows([]);
        return;
      }
      const timer = setTimeout(() => void ask(query), PAUSE_MS);
      onCleanup(() => clearTimeout(timer));
    }),
  );
  onCleanup(() => current?.abort());
  return rows;
}
