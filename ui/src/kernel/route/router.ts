import { createSignal } from 'solid-js';

/** The part of `window` that the router needs. */
interface RouterWindow {
  readonly location: { readonly pathname: string; readonly search: string; readonly origin: string };
  readonly history: Pick<History, 'pushState' | 'replaceState' | 'go' | 'state'>;
  addEventListener(type: 'popstate', listener: () => void): void;
}

/** How the current address was reached; `index` counts the history entries of this visit. */
interface Arrival {
  readonly kind: 'start' | 'push' | 'replace' | 'pop';
  readonly index: number;
}

/** The question before leaving the page; undefined when nothing would be lost. */
type Block = () => string | undefined;

export interface Router {
  readonly path: () => string;
  readonly query: () => URLSearchParams;
  readonly arrival: () => Arrival;
  /** `gone`: the edited record was deleted, so no question is needed. */
  navigate(to: string, options?: { replace?: boolean; gone?: boolean }): void;
  /** The address of this page with other query parameters; an empty value removes one. */
  hrefWith(values: Readonly<Record<string, string>>): string;
  /** Replaces query parameters without a new history entry; an empty value removes one. */
  setQuery(values: Readonly<Record<string, string>>): void;
  /** Asks before the path changes while `block` returns a question; returns a function that removes the block. */
  block(block: Block): () => void;
  /** The question of the first block that has one. */
  readonly blocked: Block;
  /** Asks when a block has a question; for changes that stay on the path. */
  mayLeave(): Promise<boolean>;
}

/** @param ask confirms leaving the page. */
export function createRouter(browser: RouterWindow, ask: (sentence: string) => Promise<boolean> = async () => true): Router {
  const read = () => ({ path: browser.location.pathname, search: browser.location.search });
  const blocks = new Set<Block>();
  const [location, setLocation] = createSignal(read());
  const [arrival, setArrival] = createSignal<Arrival>({ kind: 'start', index: indexOf(browser.history.state) });
  /** The next `popstate` comes from the router: an allowed move, or one that undoes a blocked move. */
  let awaited: 'allowed' | 'undone' | undefined;

  const arrive = (kind: Arrival['kind'], index: number) => {
    setArrival({ kind, index });
    setLocation(read());
  };
  const blocked: Block = () => [...blocks].map((block) => block()).find((sentence) => sentence !== undefined);

  browser.addEventListener('popstate', () => {
    const index = indexOf(browser.history.state);
    const steps = index - arrival().index;
    const mine = awaited;
    awaited = undefined;
    if (mine === 'undone') return;
    const sentence = mine === 'allowed' || browser.location.pathname === location().path ? undefined : blocked();
    if (sentence === undefined || steps === 0) return arrive('pop', index);
    awaited = 'undone';
    browser.history.go(-steps);
    void ask(sentence).then((leave) => {
      if (!leave) return;
      awaited = 'allowed';
      browser.history.go(steps);
    });
  });

  const go = (to: string, replace: boolean) => {
    const index = arrival().index + (replace ? 0 : 1);
    if (replace) browser.history.replaceState({ index }, '', to);
    else browser.history.pushState({ index }, '', to);
    arrive(replace ? 'replace' : 'push', index);
  };

  const leaveFor = async (sentence: string, to: string, replace: boolean) => {
    if (await ask(sentence)) go(to, replace);
  };

  const navigate: Router['navigate'] = (to, { replace = false, gone = false } = {}) => {
    const same = new URL(to, `${browser.location.origin}${location().path}`).pathname === location().path;
    const sentence = same || gone ? undefined : blocked();
    if (sentence === undefined) return go(to, replace);
    void leaveFor(sentence, to, replace);
  };

  const hrefWith: Router['hrefWith'] = (values) => {
    const query = new URLSearchParams(location().search);
    for (const [name, value] of Object.entries(values)) {
      if (value === '') query.delete(name);
      else query.set(name, value);
    }
    return `${location().path}${query.size > 0 ? `?${query}` : ''}`;
  };

  return {
    path: () => location().path,
    query: () => new URLSearchParams(location().search),
    arrival,
    navigate,
    hrefWith,
    setQuery: (values) => navigate(hrefWith(values), { replace: true }),
    block(block) {
      blocks.add(block);
      return () => void blocks.delete(block);
    },
    blocked,
    async mayLeave() {
      const sentence = blocked();
      return sentence === undefined || ask(sentence);
    },
  };
}

const indexOf = (state: unknown): number =>
  typeof state === 'object' && state !== null && 'index' in state && typeof state.index === 'number' ? state.index : 0;

/** The parameters of `pattern` (`/tools/:id`) in `path`, or null when it does not match. */
export function matchPath(pattern: string, path: string): Record<string, string> | null {
  const expected = segments(pattern);
  const given = segments(path);
  if (expected.length !== given.length) return null;
  const variables: Record<string, string> = {};
  for (const [index, part] of expected.entries()) {
    const value = given[index] ?? '';
    if (part.startsWith(':')) variables[part.slice(1)] = decode(value);
    else if (part !== value) return null;
  }
  return variables;
}

/** A same-origin path to open after signing in; anything else becomes `/`. */
export function safeNext(next: string | null, origin: string): string {
  if (next === null || !next.startsWith('/')) return '/';
  const url = URL.canParse(next, origin) ? new URL(next, origin) : undefined;
  return url?.origin === origin ? `${url.pathname}${url.search}` : '/';
}

const segments = (path: string): string[] => path.split('/').filter((part) => part !== '');

/** The decoded text; the text itself when its percent-encoding is invalid. */
export function decode(value: string): string {
  try {
    return decodeURIComponent(value);
  } catch {
    return value;
  }
}
