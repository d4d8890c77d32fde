import { expect, test } from 'bun:test';
import { createRouter, matchPath, safeNext } from '#ui/src/kernel/router.ts';

const ORIGIN = 'https://sluice.test';

/** The two standard objects that the router changes, over a plain list of entries. */
function browserAt(start: string) {
  const entries = [start];
  const listeners: (() => void)[] = [];
  const url = () => new URL(entries.at(-1) ?? '/', ORIGIN);
  return {
    entries,
    location: {
      origin: ORIGIN,
      get pathname() {
        return url().pathname;
      },
      get search() {
        return url().search;
      },
    },
    history: {
      pushState: (_data: unknown, _title: string, to?: string | URL | null) => void entries.push(String(to)),
      replaceState: (_data: unknown, _title: string, to?: string | URL | null) => void entries.splice(-1, 1, String(to)),
    },
    addEventListener: (_type: 'popstate', listener: () => void) => void listeners.push(listener),
    back() {
      entries.pop();
      for (const listener of listeners) listener();
    },
  };
}

test('a route matches only paths of its own length and names its variables', () => {
  expect(matchPath('/', '/')).toEqual({});
  expect(matchPath('/tools', '/tools/')).toEqual({});
  expect(matchPath('/tools/:id', '/tools/a%20b')).toEqual({ id: 'a b' });
  expect(matchPath('/tools/:id', '/tools')).toBeNull();
  expect(matchPath('/tools', '/tools/1')).toBeNull();
  expect(matchPath('/tools/:id', '/tools/%E0%A4%A')).toEqual({ id: '%E0%A4%A' });
});

test('navigating adds an entry, replacing does not, and going back is followed', () => {
  const browser = browserAt('/');
  const router = createRouter(browser);
  router.navigate('/tools?q=a');
  expect([router.path(), router.query().get('q')]).toEqual(['/tools', 'a']);
  router.navigate('/login', { replace: true });
  expect(browser.entries).toEqual(['/', '/login']);
  browser.back();
  expect(router.path()).toBe('/');
});

test('query parameters change in place and an empty one disappears', () => {
  const browser = browserAt('/?q=a&page=2');
  const router = createRouter(browser);
  router.setQuery({ q: 'b c' });
  expect(browser.entries).toEqual(['/?q=b+c&page=2']);
  router.setQuery({ q: '', page: '' });
  expect(browser.entries).toEqual(['/']);
});

test('after signing in only a path of this origin is gone to', () => {
  expect(safeNext('/tools?q=a', ORIGIN)).toBe('/tools?q=a');
  for (const bad of [null, '', 'https://evil.test/', '//evil.test/', '/\\evil.test', 'tools', 'javascript:alert(1)']) {
    expect(safeNext(bad, ORIGIN)).toBe('/');
  }
});
