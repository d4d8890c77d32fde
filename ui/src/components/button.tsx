import { type JSX, Show, splitProps } from 'solid-js';

type ButtonProps = Omit<JSX.ButtonHTMLAttributes<HTMLButtonElement>, 'disabled' | 'onClick'> & {
  kind?: 'plain' | 'primary' | 'danger' | 'quiet' | 'gate';
  size?: 'small';
  /** Only an icon inside: `label` names it for everyone. */
  shape?: 'icon';
  label?: string;
  busy?: boolean;
  blocked?: boolean;
  onPress?: () => void;
};

/** Stays focusable while it is busy or blocked (`aria-disabled`), so that the keyboard does not lose its place. */
export function Button(props: ButtonProps) {
  const [own, rest] = splitProps(props, ['kind', 'size', 'shape', 'label', 'busy', 'blocked', 'onPress', 'children', 'type']);
  const inert = () => own.busy === true || own.blocked === true;
  const press = (event: MouseEvent) => {
    if (inert()) return event.preventDefault();
    own.onPress?.();
  };
  return (
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
      aria-busy={own.busy ? 'true' : undefined}
      onClick={press}
    >
      <Show when={own.busy}>
        <span class="spinner" aria-hidden="true" />
      </Show>
      {own.children}
    </button>
  );
}
