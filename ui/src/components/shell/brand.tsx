import { createUniqueId } from 'solid-js';

/** Two posts, the lifted gate leaf, the water below. */
export function Mark(props: { size?: number }) {
  return (
    <svg width={props.size ?? 26} height={props.size ?? 26} viewBox="3 4 26 24" fill="none" aria-hidden="true">
      <path class="brand-post" d="M9 6v20M23 6v20" stroke-width="2.6" stroke-linecap="round" />
      <path class="brand-gate" d="M12.5 7h7v7.2h-7z" />
      <path class="brand-water" d="M4 20.5q3-3 6 0t6 0 6 0 6 0" stroke-width="2.6" stroke-linecap="round" />
    </svg>
  );
}

/** A drifting surface of water; its colour and depth come from the styles around it. */
export function Wave() {
  const id = createUniqueId();
  return (
    <svg class="wave drift" aria-hidden="true">
      <defs>
        <pattern id={id} width="96" height="320" patternUnits="userSpaceOnUse">
          <path d="M0 5q24-7 48 0t48 0v315H0z" />
        </pattern>
      </defs>
      <rect width="100%" height="100%" fill={`url(#${id})`} />
    </svg>
  );
}
