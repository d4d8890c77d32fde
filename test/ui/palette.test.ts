import { expect, test } from 'bun:test';
import { CREATIONS, LETTERS } from '#ui/src/components/shell/app-tables.ts';
import { matchPath } from '#ui/src/kernel/route/router.ts';
import { routes } from '#ui/src/routes.tsx';

test('every page of the navigation has a key of its own', () => {
  const pages = routes.flatMap(({ path, nav }) => (nav === undefined ? [] : [path]));
  expect(pages.filter((path) => LETTERS[path] === undefined)).toEqual([]);
  expect(Object.keys(LETTERS).filter((path) => ![...pages, '/account'].includes(path))).toEqual([]);
  const letters = Object.values(LETTERS);
  expect(new Set(letters).size).toBe(letters.length);
});

test('everything that is created has a page, and every page that creates is in the palette', () => {
  const known = (to: string) => routes.some(({ path }) => matchPath(path, to.split('?')[0] ?? '') !== null);
  expect(CREATIONS.filter(([, to]) => !known(to))).toEqual([]);
  const creating = routes.map(({ path }) => path).filter((path) => path.endsWith('/new'));
  expect(creating.filter((path) => !CREATIONS.some(([, to]) => to === path))).toEqual([]);
});
