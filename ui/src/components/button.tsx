import { createSignal, type JSX, Show, splitProps } from 'solid-js';
import type { OperationName } from '#core/contract/index.ts';
import { useKernel } from '#ui/src/kernel/kernel.ts';
import { useFixed } from './form/fixed.tsx';
import { Icon, type IconName } from './icon.tsx';

export type ButtonKind = 'plain' | 'primary' | 'danger' | 'quiet' | 'gate';

type ButtonProps = Omit<JSX.ButtonHTMLAttributes<HTMLButtonElement>, 'disabled' | 'onClick'> & {
  kind?: ButtonKind;
  size?: 'small';
  icon?: IconName;
  /** Icon only: `label` is the accessible name. */
  shape?: 'icon';
  label?: string;
  busy?: boolean;
  /** The operation that it calls; the button is hidden from roles that may not call it. */
  needs?: OperationName;
  blocked?: boolean;
  /** The button is busy until a returned promise settles, and ignores presses until then. */
  onPress?: () => unknown;
};

/** Hidden without the role for `needs`. Stays focusable while busy or blocked (`aria-disabled`), so the keyboard focus is not lost. */
export function Button(props: ButtonProps) {
  const [own, rest] = splitProps(props, [
    'kind',
    'size',
    'icon',
    'shape',
    'label',
    'busy',
    'needs',
    'blocked',
    'onPress',
    'children',
    'type',
  ]);
  const [working, setWorking] = createSignal(false);
  const busy = () => own.busy === true || working();
  const inert = () => busy() || own.blocked === true;
  const press = (event: MouseEvent) => {
    if (inert()) return event.preventDefault();
    const work = own.onPress?.();
    if (!(work instanceof Promise)) return undefined;
    setWorking(true);
    return void work.finally(() => setWorking(false));
  };
  const fixed = useFixed();
  const there = () => !fixed() && (own.needs === undefined || useKernel().session.may(own.needs));
  return (
    <Show when={there()}>
      <button
        {...rest}
        type={own.type ?? 'button'}
        class="button"
        data-kind={own.kind}
        data-size={own.size}
        data-shape={own.shape}
        aria-label={own.label}
        title={own.label}
        aria-disabled={inert() ? 'true' : undefined}
        aria-busy={busy() ? 'true' : undefined}
        onClick={press}
      >
        <Show when={busy()} fallback={<Show when={own.icon}>{(icon) => <Icon name={icon()} />}</Show>}>
          <span class="spinner" aria-hidden="true" />
        </Show>
        {own.children}
      </button>
    </Show>
  );
}

/** An icon button; its label is the accessible name and the tooltip. */
export function IconButton(
  props: Omit<ButtonProps, 'shape' | 'label' | 'icon' | 'children'> & { icon: IconName; label: string },
) {
  const [own, rest] = splitProps(props, ['kind']);
  return <Button {...rest} kind={own.kind ?? 'quiet'} shape="icon" />;
}
