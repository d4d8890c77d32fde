import { desc } from 'drizzle-orm';
import type { Handlers } from '#core/context/context.ts';
import type { Platform } from '#core/platform/platform.ts';
import { readPage } from '#core/store/pages.ts';
import { publicKeys } from './heads.ts';
import { readEntries } from './read-entries.ts';
import { sinkStates } from './sinks.ts';
import { verifyAudit } from './verify.ts';
import { chainNow } from './writer.ts';

export const auditHandlers: Pick<Handlers<Platform>, Extract<keyof Handlers, `audit.${string}`>> = {
  'audit.list': async ({ app }, { after, before, limit, ...filter }) => {
    await chainNow(app);
    const items = await readEntries(app, filter, after === undefined ? { before } : { after }, limit);
    const next = items.at(-1)?.seq ?? after ?? null;
    // A reader that follows the log continues after the last entry that there was.
    return { items, next: after !== undefined || items.length === limit ? next : null };
  },
  'audit.heads': async ({ app }, { skip, limit }) => {
    await chainNow(app);
    const { audit_heads: heads } = app.store.tables;
    const { rows, total } = await readPage(app.store.db, heads, { order: [desc(heads.at), desc(heads.seq)], skip, limit });
    return { items: rows, total };
  },
  'audit.keys': async ({ app }) => ({ keys: await publicKeys(app) }),
  'audit.verify': async ({ app }, { heads }) => {
    await chainNow(app);
    return verifyAudit(app, heads);
  },
  'audit.sinks': async ({ app }) => ({ items: await sinkStates(app) }),
};
