import type { JSX } from 'solid-js';
import { useKernel } from '#ui/src/kernel/kernel.ts';

/** A link within this page; every press that means "elsewhere" (new tab, download) is left to the browser. */
export function Link(props: { href: string; class?: string; current?: boolean; onFollow?: () => void; children: JSX.Element }) {
  const { router } = useKernel();
  const follow = (event: MouseEvent) => {
    if (event.defaultPrevented || event.button !== 0 || event.metaKey || event.ctrlKey || event.shiftKey || event.altKey) return;
    event.preventDefault();
    router.navigate(props.href);
    props.onFollow?.();
  };
  return (
    <a href={props.href} class={props.class} aria-current={props.current ? 'page' : undefined} onClick={follow}>
      {props.children}
    </a>
  );
}
