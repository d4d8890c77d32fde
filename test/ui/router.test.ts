import { expect, test } from 'bun:test';
import { createRouter, matchPath, safeNext } from '#ui/src/kernel/route/router.ts';

const ORIGIN = 'https://sluice.test';

/** The two standard objects that the router changes, over a plain list of entries. */
function browserAt(start: string) {
  const entries: { to: string; state: unknown }[] = [{ to: start, state: null }];
  const listeners: (() => void)[] = [];
  let at = 0;
  const url = () => new URL(entries[at]?.to ?? '/', ORIGIN);
  const go = (steps = 0) => {
    at += steps;
    for (const listener of listeners) listener();
  };
  return {
    addresses: () => entries.slice(0, at + 1).map(({ to }) => to),
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
      get state() {
        return entries[at]?.state;
      },
      pushState(state: unknown, _title: string, to?: string | URL | null) {
        at += 1;
        entries.splice(at, Infinity, { to: String(to), state });
      },
      replaceState: (state: unknown, _title: string, to?: string | URL | null) => void (entries[at] = { to: String(to), state }),
      go,
    },
    addEventListener: (_type: 'popstate', listener: () => void) => void listeners.push(listener),
    back: () => go(-1),
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
  expect(browser.addresses()).toEqual(['/', '/login']);
  browser.back();
  expect(router.path()).toBe('/');
});

test('query parameters change in place and an empty one disappears', () => {
  const browser = browserAt('/?q=a&page=2');
  const router = createRouter(browser);
  router.setQuery({ q: 'b c' });
  expect(browser.addresses()).toEqual(['/?q=b+c&page=2']);
  expect([router.hrefWith({ q: '', call: '7' }), router.query().get('q')]).toEqual(['/?page=2&call=7', 'b c']);
  router.setQuery({ q: '', page: '' });
  expect(browser.addresses()).toEqual(['/']);
});

test('after signing in only a path of this origin is gone to', () => {
  expect(safeNext('/tools?q=a', ORIGIN)).toBe('/tools?q=a');
  for (const bad of [null, '', 'https://evil.test/', '//evil.test/', '/\\evil.test', 'tools', 'javascript:alert(1)']) {
    expect(safeNext(bad, ORIGIN)).toBe('/');
  }
});

test('a page that would lose something is left only after asking, by a link and by going back', async () => {
  const browser = browserAt('/');
  const asked: string[] = [];
  let leave = false;
  const router = createRouter(browser, async (sentence) => {
    asked.push(sentence);
    return leave;
  });
  router.navigate('/tools/1');
  const unblock = router.block(() => 'The tool is not saved.');

  router.navigate('/tools/1?tab=sql');
  expect([router.path(), asked]).toEqual(['/tools/1', []]);
  router.navigate('/');
  await Bun.sleep(0);
  expect([router.path(), asked.length]).toEqual(['/tools/1', 1]);
  browser.history.go(-2);
  await Bun.sleep(0);
  expect([router.path(), browser.location.pathname, asked.length]).toEqual(['/tools/1', '/tools/1', 2]);

  router.navigate('/tools', { replace: true, gone: true });
  expect([router.path(), asked.length]).toEqual(['/tools', 2]);
  router.navigate('/tools/1', { replace: true, gone: true });

  leave = true;
  browser.history.go(-2);
  await Bun.sleep(0);
  expect([router.path(), browser.location.pathname, asked.length]).toEqual(['/', '/', 3]);
  unblock();
  router.navigate('/tools');
  expect([router.path(), router.arrival().kind]).toEqual(['/tools', 'push']);
});

test('a change that keeps the path asks for itself whether something would be lost', async () => {
  const asked: string[] = [];
  const router = createRouter(browserAt('/connections/1'), async (sentence) => {
    asked.push(sentence);
    return false;
  });
  expect([await router.mayLeave(), asked]).toEqual([true, []]);
  const free = router.block(() => 'Not saved.');
  expect([await router.mayLeave(), asked]).toEqual([false, ['Not saved.']]);
  free();
  expect(await router.mayLeave()).toBe(true);
});
