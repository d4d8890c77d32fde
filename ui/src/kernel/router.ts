import { createSignal } from 'solid-js';

/** The part of `window` that the router needs. */
export interface RouterWindow {
  readonly location: { readonly pathname: string; readonly search: string; readonly origin: string };
  readonly history: Pick<History, 'pushState' | 'replaceState'>;
  addEventListener(type: 'popstate', listener: () => void): void;
}

export interface Router {
  readonly path: () => string;
  readonly query: () => URLSearchParams;
  navigate(to: string, options?: { replace?: boolean }): void;
  /** Changes query parameters in place, without a new entry in the history; an empty value removes one. */
  setQuery(values: Readonly<Record<string, string>>): void;
}

export function createRouter(browser: RouterWindow): Router {
  const read = () => ({ path: browser.location.pathname, search: browser.location.search });
  const [location, setLocation] = createSignal(read());
  browser.addEventListener('popstate', () => setLocation(read()));

  const navigate: Router['navigate'] = (to, options = {}) => {
    if (options.replace) browser.history.replaceState(null, '', to);
    else browser.history.pushState(null, '', to);
    setLocation(read());
  };

  return {
    path: () => location().path,
    query: () => new URLSearchParams(location().search),
    navigate,
    setQuery(values) {
      const query = new URLSearchParams(location().search);
      for (const [name, value] of Object.entries(values)) {
        if (value === '') query.delete(name);
        else query.set(name, value);
      }
      navigate(`${location().path}${query.size > 0 ? `?${query}` : ''}`, { replace: true });
    },
  };
}

/** The variables of `pattern` (`/tools/:id`) in `path`, or null when it does not match. */
export function matchPath(pattern: string, path: string): Record<string, string> | null {
  const wanted = segments(pattern);
  const given = segments(path);
  if (wanted.length !== given.length) return null;
  const variables: Record<string, string> = {};
  for (const [index, part] of wanted.entries()) {
    const value = given[index] ?? '';
    if (part.startsWith(':')) variables[part.slice(1)] = decode(value);
    else if (part !== value) return null;
  }
  return variables;
}

/** A path of this page to go to after signing in; anything else (another origin, no path) becomes `/`. */
export function safeNext(next: string | null, origin: string): string {
  if (next === null || !next.startsWith('/')) return '/';
  const url = URL.canParse(next, origin) ? new URL(next, origin) : undefined;
  return url?.origin === origin ? `${url.pathname}${url.search}` : '/';
}

const segments = (path: string): string[] => path.split('/').filter((part) => part !== '');

function decode(value: string): string {
  try {
    return decodeURIComponent(value);
  } catch {
    return value;
  }
}
