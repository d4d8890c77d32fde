import { expect, test } from 'bun:test';
import { readFileSync } from 'node:fs';
import { type Setting, SETTINGS } from '#core/env/settings.ts';

/** The rows of the README's table, made from the settings themselves. */
function rows(): string {
  const lines = Object.entries(SETTINGS as Record<string, Setting<unknown>>).map(([name, { default: fallback, meaning }]) => {
    return `| \`${name}\` | ${fallback === null || fallback === '' ? '' : `\`${fallback}\``} | ${meaning} |`;
  });
  return ['| variable | default | meaning |', '|---|---|---|', ...lines].join('\n');
}

test('the README lists every setting as it is', () => {
  const readme = readFileSync(new URL('../../README.md', import.meta.url), 'utf8');
  const table = /<!-- settings -->\n([\s\S]*?)<!-- \/settings -->/.exec(readme)?.[1]?.trim();
  expect(table).toBe(rows());
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
