import { expect, test } from 'bun:test';
import { CREATIONS, NAV } from '#ui/src/components/shell/app-tables.ts';
import { matchPath } from '#ui/src/kernel/route/router.ts';
import { routes } from '#ui/src/routes.tsx';

test('every page of the navigation has a key of its own', () => {
  expect(NAV.filter(([page]) => !routes.some(({ path }) => path === page))).toEqual([]);
  expect(new Set(NAV.map(([path]) => path)).size).toBe(NAV.length);
  expect(new Set(NAV.map(([, , , letter]) => letter)).size).toBe(NAV.length);
});

test('everything that is created has a page, and every page that creates is in the palette', () => {
  const known = (to: string) => routes.some(({ path }) => matchPath(path, to.split('?')[0] ?? '') !== null);
  expect(CREATIONS.filter(([, to]) => !known(to))).toEqual([]);
  const creating = routes.map(({ path }) => path).filter((path) => path.endsWith('/new'));
  expect(creating.filter((path) => !CREATIONS.some(([, to]) => to === path))).toEqual([]);
});
