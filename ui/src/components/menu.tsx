import * as Kobalte from '@kobalte/core/dropdown-menu';
import { For, type JSX, Show } from 'solid-js';
import { useKernel } from '#ui/src/kernel/kernel.ts';
import type { ButtonKind } from './button.tsx';
import { useMayOpen } from './shell/route-context.ts';
import type { OperationName } from '#core/contract/index.ts';
import { Icon, type IconName } from './icon.tsx';

export interface MenuItem {
  readonly label: string;
  /** What it does, as a sentence. */
  readonly hint?: string;
  readonly icon?: IconName;
  readonly onSelect?: () => void;
  readonly href?: string;
  readonly danger?: boolean;
  readonly disabled?: boolean;
  /** What it does: not there for people whose role may not. */
  readonly needs?: OperationName;
  readonly shortcut?: string;
}

/** Turns something off or on. */
export const enableItem = (enabled: boolean, onSelect: () => void): MenuItem =>
  enabled ? { label: 'Disable', icon: 'pause', onSelect } : { label: 'Enable', icon: 'play', onSelect };

/** The key that selects is used up: it would press what has the focus next, such as the first button of a dialog that opens. */
const keepKey = (event: KeyboardEvent): void => {
  if (event.key === 'Enter' || event.key === ' ') event.preventDefault();
};

/** Further things that can be done. Without `trigger` it is a button with three dots. */
export function Menu(props: {
  label: string;
  items: readonly (MenuItem | 'line' | false | undefined)[];
  icon?: IconName;
  trigger?: JSX.Element;
  kind?: ButtonKind;
  size?: 'small';
}) {
  const { router, session } = useKernel();
  const mayOpen = useMayOpen();
  const isThere = (item: MenuItem | 'line' | false | undefined): item is MenuItem | 'line' => {
    if (item === false || item === undefined) return false;
    if (item === 'line') return true;
    return (item.needs === undefined || session.may(item.needs)) && (item.href === undefined || mayOpen(item.href));
  };
  /** Without lines that separate nothing. */
  const items = () => {
    const there = props.items.filter(isThere);
    return there.filter((item, place) => item !== 'line' || (place > 0 && place < there.length - 1));
  };
  const select = (item: MenuItem) => {
    if (item.href !== undefined) router.navigate(item.href);
    item.onSelect?.();
  };
  return (
    <Show when={items().length > 0}>
      <Kobalte.Root gutter={4} placement="bottom-end" modal={false}>
        <Kobalte.Trigger
          class="button"
          data-kind={props.kind ?? (props.trigger === undefined ? 'quiet' : 'plain')}
          data-size={props.size}
          data-shape={props.trigger === undefined ? 'icon' : undefined}
          aria-label={props.trigger === undefined ? props.label : undefined}
          title={props.trigger === undefined ? props.label : undefined}
        >
          <Show when={props.trigger} fallback={<Icon name={props.icon ?? 'more'} />}>
            {props.trigger}
            <Icon name="down" size={12} />
          </Show>
        </Kobalte.Trigger>
        <Kobalte.Portal>
          <Kobalte.Content class="floating menu" aria-label={props.label}>
            <For each={items()}>
              {(item) =>
                item === 'line' ? (
                  <Kobalte.Separator class="menu-line" />
                ) : (
                  <Kobalte.Item
                    class="menu-item"
                    data-danger={item.danger ? 'true' : undefined}
                    disabled={item.disabled === true}
                    onKeyDown={keepKey}
                    onSelect={() => select(item)}
                  >
                    <Show when={item.icon}>{(icon) => <Icon name={icon()} size={14} />}</Show>
                    <span class="grow lines">
                      {item.label}
                      <Show when={item.hint}>{(hint) => <span class="option-hint">{hint()}</span>}</Show>
                    </span>
                    <Show when={item.shortcut}>
                      <kbd>{item.shortcut}</kbd>
                    </Show>
                  </Kobalte.Item>
                )
              }
            </For>
          </Kobalte.Content>
        </Kobalte.Portal>
      </Kobalte.Root>
    </Show>
  );
}
