import type { JSX } from 'solid-js';

/** Dims what answers an earlier question, such as another filter, while the answer to the newer one is awaited. */
export function Aging(props: { of: { readonly stale?: () => boolean } | undefined; children: JSX.Element }) {
  const stale = () => (props.of?.stale?.() === true ? 'true' : undefined);
  return (
    <div class="aging" data-stale={stale()} aria-busy={stale()}>
      {props.children}
    </div>
  );
}
