import { type JSX, Show } from 'solid-js';
import { Button } from './button.tsx';
import { Icon } from './icon.tsx';

interface SearchField {
  label: string;
  value: string;
  onInput: (value: string) => void;
  placeholder?: string;
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
            placeholder={search().placeholder ?? search().label}
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

export function SearchInput(props: SearchField & { autofocus?: boolean }) {
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
        placeholder={props.placeholder}
        value={props.value}
        autocomplete="off"
        spellcheck={false}
        onInput={(event) => props.onInput(event.currentTarget.value)}
        onKeyDown={(event) => {
          if (event.key !== 'Escape' || props.value === '') return;
          event.stopPropagation();
          props.onInput('');
        }}
      />
    </div>
  );
}
