import { expect, test } from 'bun:test';
import { readFileSync } from 'node:fs';
import { frozenSettings } from '#core/contract/settings/settings.ts';
import { type Setting, SETTINGS } from '#core/env/settings.ts';
import { withTable } from '#server/write-settings.ts';

test('docs/settings.md lists every variable as it is, or `bun server/write-settings.ts` has to run', () => {
  const page = readFileSync(new URL('../../docs/settings.md', import.meta.url), 'utf8');
  expect(page).toContain('<!-- settings -->');
  expect(page, 'Run `bun server/write-settings.ts`.').toBe(withTable(page));
});

test('docs/settings.md names every field of the server configuration', () => {
  const page = readFileSync(new URL('../../docs/settings.md', import.meta.url), 'utf8');
  const groups = ['introspection_', 'acme_', 'dns_'].filter((group) => page.includes(`${group}*`));
  const missing = Object.keys(frozenSettings).filter(
    (name) => !page.includes(`\`${name}\``) && !groups.some((group) => name.startsWith(group)),
  );
  expect(missing).toEqual([]);
});

test('every setting is read by some program', async () => {
  const files = ['core', 'server', 'mcp-host', 'agent'].flatMap((folder) => [
    ...new Bun.Glob(`${folder}/**/*.ts`).scanSync(new URL('../..', import.meta.url).pathname),
  ]);
  const sources = files
    .filter((file) => file !== 'core/env.ts' && file !== 'core/env/settings.ts')
    .map((file) => readFileSync(new URL(`../../${file}`, import.meta.url), 'utf8'));
  const all = sources.join('\n');
  const unread = Object.entries(SETTINGS as Record<string, Setting<unknown>>).filter(([name]) => !all.includes(name));
  expect(unread.filter(([, { retired }]) => retired !== true).map(([name]) => name)).toEqual([]);
});
