import { type JSX, Show } from 'solid-js';
import { useKernel } from '#ui/src/kernel/kernel.ts';
import type { ButtonKind } from './button.tsx';
import { Icon, type IconName } from './icon.tsx';
import { useMayOpen, usePrefetch } from './shell/route-context.ts';

interface LinkProps {
  href: string;
  class?: string;
  current?: boolean;
  label?: string;
  onFollow?: () => void;
  /** -1: an element around it has the focus. */
  tabindex?: number;
  children: JSX.Element;
}

/** A link within this page; text alone where the role of the person may not go. Every press that means "elsewhere" (new tab, download) is left to the browser. */
export function Link(props: LinkProps & { kind?: ButtonKind; size?: 'small' }) {
  const { router } = useKernel();
  const prefetch = usePrefetch();
  const mayOpen = useMayOpen();
  const follow = (event: MouseEvent) => {
    if (event.defaultPrevented || event.button !== 0 || event.metaKey || event.ctrlKey || event.shiftKey || event.altKey) return;
    event.preventDefault();
    router.navigate(props.href);
    props.onFollow?.();
  };
  return (
    <Show when={mayOpen(props.href)} fallback={<span class={props.class}>{props.children}</span>}>
      <a
        href={props.href}
        class={props.class}
        data-kind={props.kind}
        data-size={props.size}
        aria-label={props.label}
        tabindex={props.tabindex}
        aria-current={props.current ? 'page' : undefined}
        onPointerEnter={() => prefetch(props.href)}
        onFocus={() => prefetch(props.href)}
        onClick={follow}
      >
        {props.children}
      </a>
    </Show>
  );
}

/** A link that looks like a button: it goes somewhere, and is not there for a role that may not. */
export function LinkButton(props: { href: string; kind?: ButtonKind; size?: 'small'; icon?: IconName; children: JSX.Element }) {
  const mayOpen = useMayOpen();
  return (
    <Show when={mayOpen(props.href)}>
      <Link
        href={props.href}
        class="button"
        {...(props.kind === undefined ? {} : { kind: props.kind })}
        {...(props.size === undefined ? {} : { size: props.size })}
      >
        <Show when={props.icon}>{(icon) => <Icon name={icon()} />}</Show>
        {props.children}
      </Link>
    </Show>
  );
}
