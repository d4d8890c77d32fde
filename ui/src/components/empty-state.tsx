import { type JSX, Show } from 'solid-js';
import { Button } from './button.tsx';
import { Icon, type IconName } from './icon.tsx';
import { LinkButton } from './link.tsx';
import { Sentence } from '#ui/src/components/show/sentence.tsx';

/** An empty list: the reason and the next step. `framed`: drawn as a card. */
export function EmptyState(props: {
  icon?: IconName;
  title: string;
  framed?: boolean;
  action?: JSX.Element;
  children?: JSX.Element;
}) {
  return (
    <div class="empty-state" classList={{ panel: props.framed === true }}>
      <Show when={props.icon}>
        {(icon) => (
          <span class="empty-icon">
            <Icon name={icon()} size={20} />
          </span>
        )}
      </Show>
      <p class="empty-title">
        <Sentence>{props.title}</Sentence>
      </p>
      <Show when={props.children}>
        <div class="soft">{props.children}</div>
      </Show>
      <Show when={props.action}>
        <div class="row">{props.action}</div>
      </Show>
    </div>
  );
}

/** No item matches the search and the filters. */
export function NoResults(props: { onClear: () => void; children?: JSX.Element }) {
  return (
    <EmptyState icon="search" title="No results" action={<Button onPress={() => props.onClear()}>Clear filters</Button>}>
      {props.children}
    </EmptyState>
  );
}

/** The address names a record that does not exist. */
export function NotFound(props: { icon: IconName; noun: string; list: string }) {
  return (
    <EmptyState
      icon={props.icon}
      title={`This ${props.noun} doesn’t exist`}
      action={<LinkButton href={props.list}>All {props.noun}s</LinkButton>}
    >
      It was deleted, or the address is mistyped.
    </EmptyState>
  );
}
