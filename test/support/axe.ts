import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import type { Frame, Page } from 'playwright-core';

const SOURCE = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');
const LEVELS = ['serious', 'critical'];

interface Violation {
  readonly id: string;
  readonly impact: string;
  readonly help: string;
  readonly nodes: readonly { readonly html: string; readonly failureSummary: string }[];
}

/** Throws when axe finds a violation of level serious or critical in the page as it is shown now. */
export async function expectAccessible(page: Page | Frame, place = page.url()): Promise<void> {
  // Styles are not fetched again: what reads them is no rule of ours.
  // Evaluated by the debugger, which the content security policy does not concern.
  if (await page.evaluate('typeof axe === "undefined"')) await page.evaluate(SOURCE);
  const violations = await page.evaluate<Violation[]>(
    'axe.run(document, { resultTypes: ["violations"], preload: false }).then(({ violations }) => violations)',
  );
  const bad = violations.filter(({ impact }) => LEVELS.includes(impact));
  if (bad.length === 0) return;
  const said = bad.map(({ id, help, nodes }) => {
    const shown = nodes
      .slice(0, 4)
      .map(({ html, failureSummary }) => `    ${html.slice(0, 200)}\n      ${failureSummary.replaceAll('\n', ' ')}`);
    return `  ${id}: ${help}\n${shown.join('\n')}`;
  });
  throw new Error(`axe on ${place}:\n${said.join('\n')}`);
}
