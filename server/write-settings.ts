import { readFileSync, writeFileSync } from 'node:fs';
import { type Setting, SETTINGS } from '#core/process/env/settings.ts';

const PAGE = new URL('../docs/settings.md', import.meta.url);

/** The settings page, with its table of variables generated from their declarations. */
export function withTable(page: string): string {
  const rows = Object.entries(SETTINGS as Record<string, Setting<unknown>>).map(
    ([name, { default: fallback, meaning, secret = false }]) => {
      return `| \`${name}\` | ${fallback === null || fallback === '' ? '' : `\`${fallback}\``} | ${secret ? '* ' : ''}${meaning} |`;
    },
  );
  const table = ['| variable | default | meaning |', '|---|---|---|', ...rows].join('\n');
  return page.replace(
    /(<!-- settings -->\n)[\s\S]*?(<!-- \/settings -->)/,
    (_, start: string, end: string) => `${start}${table}\n${end}`,
  );
}

if (import.meta.main) writeFileSync(PAGE, withTable(readFileSync(PAGE, 'utf8')));
