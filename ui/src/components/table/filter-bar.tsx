import { createSignal, type JSX, onCleanup, Show } from 'solid-js';
import { useKernel } from '#ui/src/kernel/kernel.ts';
import { Button } from '#ui/src/components/button.tsx';
import { Select } from '#ui/src/components/form/select.tsx';
import type { Option } from '#ui/src/components/form/option.tsx';
import { Icon } from '#ui/src/components/icon.tsx';
import type { SearchParams } from '#ui/src/kernel/route/search-params.ts';

interface SearchField {
  label: string;
  value: string;
  onInput: (value: string) => void;
  ref?: (input: HTMLInputElement) => void;
}

/** Search and filters above a list; `active` says how many are set. */
export function FilterBar(props: {
  search?: SearchField;
  active?: number;
  onClear?: () => void;
  children?: JSX.Element;
  end?: JSX.Element;
}) {
  return (
    <div class="filter-bar" role="search">
      <Show when={props.search}>
        {(search) => (
          <SearchInput
            label={search().label}
            value={search().value}
            onInput={search().onInput}
            {...(search().ref === undefined ? {} : { ref: search().ref })}
          />
        )}
      </Show>
      {props.children}
      <Show when={(props.active ?? 0) > 0 && props.onClear}>
        {(clear) => (
          <Button kind="quiet" size="small" onPress={() => clear()()}>
            Clear filters
          </Button>
        )}
      </Show>
      <Show when={props.end}>
        <div class="filter-end">{props.end}</div>
      </Show>
    </div>
  );
}

/** One parameter of the address, chosen from a list; `all` stands for "not given". */
export function FilterSelect<P>(props: {
  of: SearchParams<P>;
  name: keyof P & string;
  label: string;
  all: string;
  options: readonly Option[];
  size?: 'small';
}) {
  return (
    <Select
      label={props.label}
      hide_label
      size={props.size}
      options={[{ value: '', label: props.all }, ...props.options]}
      value={props.of.written(props.name)}
      onChange={(value: string) => props.of.write(props.name, value)}
    />
  );
}

/** A list is searched once a person pauses, not at every letter. */
const PAUSE_MS = 200;

export function SearchInput(props: SearchField & { autofocus?: boolean }) {
  const { presence } = useKernel();
  /** What is typed and not searched for yet. */
  const [typed, setTyped] = createSignal<string>();
  let timer: ReturnType<typeof setTimeout> | undefined;
  const stop = () => {
    clearTimeout(timer);
    timer = undefined;
  };
  const search = () => {
    stop();
    const value = typed();
    setTyped(undefined);
    if (value !== undefined && value !== props.value) props.onInput(value);
  };
  const searchOnceReleased = async (mine: typeof timer) => {
    await presence.released();
    if (mine === timer) search();
  };
  const type = (value: string) => {
    setTyped(value);
    stop();
    const mine = setTimeout(() => void searchOnceReleased(mine), PAUSE_MS);
    timer = mine;
  };
  onCleanup(stop);
  return (
    <div class="search">
      <Icon name="search" />
      <input
        ref={(input) => {
          props.ref?.(input);
          if (props.autofocus) queueMicrotask(() => input.focus());
        }}
        class="input"
        type="search"
        aria-label={props.label}
        placeholder={props.label}
        value={typed() ?? props.value}
        autocomplete="off"
        spellcheck={false}
        onInput={(event) => type(event.currentTarget.value)}
        onKeyDown={(event) => {
          if (event.key === 'Enter') search();
          if (event.key !== 'Escape' || event.currentTarget.value === '') return;
          event.stopPropagation();
          setTyped('');
          search();
        }}
      />
    </div>
  );
}
