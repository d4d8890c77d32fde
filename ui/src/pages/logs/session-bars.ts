/** Sessions that take no time are still to be seen and pressed. */
const LEAST_SHARE = 0.8;

interface Times {
  readonly started_at: string;
  readonly last_at: string;
}

/** Milliseconds since 1970. */
export interface Span {
  readonly from: number;
  readonly until: number;
}

/** The time from the first session to the last. */
export const spanOf = (sessions: readonly Times[]): Span => ({
  from: Math.min(...sessions.map(({ started_at }) => Date.parse(started_at))),
  until: Math.max(...sessions.map(({ last_at }) => Date.parse(last_at))),
});

/** Where a session is in its lane, in percent. */
export function barOf({ started_at, last_at }: Times, { from, until }: Span): { readonly left: number; readonly width: number } {
  const share = (ms: number) => (ms / Math.max(1, until - from)) * 100;
  const width = Math.max(LEAST_SHARE, share(Date.parse(last_at) - Date.parse(started_at)));
  return { left: Math.min(share(Date.parse(started_at) - from), 100 - width), width };
}
