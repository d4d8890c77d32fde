import { expect, test } from 'bun:test';
import { ACCOUNT, CREATIONS, isWithin, NAV, pageAt, viewNameAt } from '#ui/src/components/shell/app-tables.ts';
import { matchPath } from '#ui/src/kernel/route/router.ts';
import { routes } from '#ui/src/routes.tsx';

const pages = [...NAV.flatMap((entry) => entry.pages), ACCOUNT];
const pathOf = (href: string) => href.split('?')[0] ?? '';
const isKnown = (href: string) => routes.some(({ path }) => matchPath(path, pathOf(href)) !== null);

test('the navigation has nine entries, and each page exists and has its own address and key', () => {
  expect(NAV.length).toBe(9);
  expect(pages.filter(({ href }) => !isKnown(href))).toEqual([]);
  expect(new Set(pages.map(({ href }) => href)).size).toBe(pages.length);
  const letters = pages.flatMap(({ letter }) => letter ?? []);
  expect(new Set(letters).size).toBe(letters.length);
});

test('every list and every part of the settings is a page of the navigation', () => {
  const within = (path: string) => NAV.some((entry) => isWithin(entry, path));
  const members = routes.filter(({ audience, path }) => audience === 'member' && path !== '/account' && path !== '/welcome');
  expect(members.map(({ path }) => path).filter((path) => !within(path))).toEqual([]);
});

test('an address belongs to the page with its view, else to the page itself', () => {
  const at = (address: string) => {
    const { pathname, searchParams } = new URL(address, 'http://localhost');
    return NAV.flatMap((entry) => pageAt(entry, pathname, searchParams)?.label ?? []);
  };
  expect(at('/logs')).toEqual(['Calls']);
  expect(at('/logs?view=refusals&refused=rate_limited')).toEqual(['Refusals']);
  expect(at('/deploy?view=versions&from=3')).toEqual(['Versions']);
  expect(at('/deploy?ask=deploy')).toEqual(['Changes']);
  expect(at('/tools/abc')).toEqual([]);
});

test('everything that is created has a page, and every page that creates is in the palette', () => {
  expect(CREATIONS.filter(([, to]) => !isKnown(to))).toEqual([]);
  const creating = routes.map(({ path }) => path).filter((path) => path.endsWith('/new'));
  expect(creating.filter((path) => !CREATIONS.some(([, to]) => to === path))).toEqual([]);
});

test('a view that shares its page with others has a name for the browser tab', () => {
  const named = (path: string, query = '') => viewNameAt(path, new URLSearchParams(query));
  expect([named('/deploy'), named('/deploy', 'view=versions'), named('/logs', 'view=failures&range=24h')]).toEqual([
    undefined,
    'Versions',
    'Failures',
  ]);
  expect([named('/tools', 'view=versions'), named('/deploy', 'view=nothing')]).toEqual([undefined, undefined]);
});
