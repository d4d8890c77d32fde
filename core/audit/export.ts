import type { Platform } from '#core/platform/platform.ts';
import { FORMATS } from './formats.ts';
import { type AuditFilter, readEntries } from './read-entries.ts';

const PAGE = 500;

/** Lines of an export, oldest first: an entry each, without holding more than a page. */
export async function* exportLines(app: Platform, format: 'jsonl' | 'ocsf', filter: AuditFilter = {}): AsyncGenerator<string> {
  const toLine = FORMATS[format === 'ocsf' ? 'ocsf' : 'json'];
  for (let after = 0; ;) {
    const page = await readEntries(app, filter, { after }, PAGE);
    if (page.length > 0) yield page.map((entry) => `${JSON.stringify(toLine(entry))}\n`).join('');
    if (page.length < PAGE) return;
    after = page.at(-1)?.seq ?? after;
  }
}
