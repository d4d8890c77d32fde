/** Outlines on a 16 by 16 grid. */
const PATHS = {
  alert: 'M8 2.2 14.6 13.6H1.4ZM8 6.4v3.2M8 11.7v.1',
  book: 'M8 4.2C6.4 3 4.4 2.6 2 2.8v9.6c2.4-.2 4.4.2 6 1.4 1.6-1.2 3.6-1.6 6-1.4V2.8c-2.4-.2-4.4.2-6 1.4Zm0 0v9.6',
  braces:
    'M6 2.5c-1.6 0-2 .7-2 2v1.7C4 7.3 3.4 8 2.4 8 3.4 8 4 8.7 4 9.8v1.7c0 1.3.4 2 2 2M10 2.5c1.6 0 2 .7 2 2v1.7C12 7.3 12.6 8 13.6 8 12.6 8 12 8.7 12 9.8v1.7c0 1.3-.4 2-2 2',
  check: 'm2.8 8.6 3.4 3.4 7-7.6',
  close: 'm3.5 3.5 9 9m0-9-9 9',
  copy: 'M5.5 5.5h8v8h-8ZM3.5 10.5h-1v-8h8v1',
  database:
    'M13 3.8c0 1.1-2.2 2-5 2s-5-.9-5-2 2.2-2 5-2 5 .9 5 2Zm0 0v8.4c0 1.1-2.2 2-5 2s-5-.9-5-2V3.8M13 8c0 1.1-2.2 2-5 2s-5-.9-5-2',
  gauge: 'M2.3 12.5a6.5 6.5 0 1 1 11.4 0M8 9.5l2.8-3.3',
  info: 'M8 1.8a6.2 6.2 0 1 0 0 12.4A6.2 6.2 0 0 0 8 1.8ZM8 7.4v3.8M8 4.9V5',
  keyboard: 'M1.5 4h13v8.5h-13ZM4 6.7h.1m2.5 0h.1m2.6 0h.1m2.5 0h.1M5 9.8h6',
  leave: 'M6 2.5H2.5v11H6M10.5 11.2 13.7 8l-3.2-3.2M13.5 8H6',
  menu: 'M2 4.2h12M2 8h12M2 11.8h12',
  monitor: 'M1.8 2.8h12.4v8H1.8ZM5.5 13.5h5M8 10.8v2.7',
  moon: 'M13.6 9.6A5.9 5.9 0 0 1 6.4 2.4a5.9 5.9 0 1 0 7.2 7.2Z',
  search: 'M7 2.2a4.8 4.8 0 1 0 0 9.6 4.8 4.8 0 0 0 0-9.6ZM10.5 10.5l3.3 3.3',
  sun: 'M8 5.2a2.8 2.8 0 1 0 0 5.6 2.8 2.8 0 0 0 0-5.6ZM8 1.2v1.3m0 11v1.3M1.2 8h1.3m11 0h1.3M3.2 3.2l.9.9m7.8 7.8.9.9m0-9.6-.9.9m-7.8 7.8-.9.9',
} as const;

export type IconName = keyof typeof PATHS;

export function Icon(props: { name: IconName; size?: number }) {
  return (
    <svg
      width={props.size ?? 16}
      height={props.size ?? 16}
      viewBox="0 0 16 16"
      fill="none"
      stroke="currentColor"
      stroke-width="1.5"
      stroke-linecap="round"
      stroke-linejoin="round"
      aria-hidden="true"
    >
      <path d={PATHS[props.name]} />
    </svg>
  );
}
