import type { Platform } from '#core/platform/platform.ts';
import { sql } from 'drizzle-orm';
import { FROZEN_KINDS, type SERVED } from '#core/contract/entities.ts';
import type { GuardFinding } from '#core/contract/guard.ts';
import { AppError } from '#core/errors.ts';
import type { Context, Handlers } from '#core/context/context.ts';
import type { Finding, Guard } from '#core/lib/prompt-guard/guard.ts';
import { createSlices } from '#core/lib/slices.ts';
import { entityTable } from '#core/store/entity-table.ts';
import { guardEnabled, readSettings, type StoredSettings } from '#core/settings/settings.ts';
import { changesAny } from './versioned.ts';
import { textsOf } from './guarded-texts.ts';

type Guarded = (typeof SERVED)[number];

export const guardHandlers: Pick<Handlers, Extract<keyof Handlers, `guard.${string}`>> = {
  'guard.rules': async () => {
    const { listRules } = await import('#core/lib/prompt-guard/guard.ts');
    const items = listRules().map((rule) => ({ ...rule, kinds: [...rule.kinds] }));
    return { items, total: items.length };
  },
  'guard.test': async ({ app }, { text, kind }) => {
    const guard = await guardOf(app, (await readSettings(app)).settings);
    const findings = withVerdicts(guard, guard.scan([{ field: 'text', text, kind }], { tool_names: await toolNames(app) }));
    return { blocked: findings.some(({ blocked }) => blocked), findings };
  },
  'guard.scan': async ({ app }) => {
    const { settings } = await readSettings(app);
    const { server_name, instructions, skill, global_variables } = settings;
    const guard = await guardOf(app, settings);
    const stored: { entity_type: Guarded; id: string; name: string; texts: object }[] = [];
    for (const entity_type of FROZEN_KINDS) {
      const rows = await app.store.db.select().from(entityTable(app.store, entity_type));
      stored.push(...rows.map((row) => ({ entity_type, id: row.id, name: row.name, texts: row })));
    }
    const texts = { server_name, instructions, skill, global_variables };
    stored.push({ entity_type: 'server_config', id: 'server_config', name: server_name, texts });
    const names = stored.filter(({ entity_type }) => entity_type === 'tool').map(({ name }) => name);
    const items = [];
    const turn = createSlices();
    for (const { texts, ...item } of stored) {
      await turn();
      const findings = withVerdicts(guard, guard.scan(textsOf({ ...texts }), { tool_names: names, own: item.name }));
      if (findings.length > 0) items.push({ ...item, findings });
    }
    return { scanned: stored.length, items };
  },
};

/**
 * Throws `prompt_injection_blocked` for a definition that reads like an instruction to a model. The error names the fields and rules,
 * never the text. @param draft what will be stored; its secrets are not scanned. @param stored what it replaces: equal fields are
 * not scanned.
 */
export async function guardDraft(
  context: Context,
  entity_type: Guarded,
  draft: Readonly<Record<string, unknown>>,
  stored: object | null = null,
): Promise<void> {
  const found = (await findingsOf(context, entity_type, draft, stored)).filter(({ blocked }) => blocked);
  if (found.length === 0) return;
  const errors = [...new Set(found.map(({ field }) => field))].map((field) => ({
    field,
    message: `${field} reads like an instruction to a model (${rulesOf(found.filter((one) => one.field === field))}).`,
  }));
  const detail = `This ${entity_type === 'server_config' ? 'server configuration' : entity_type} was rejected: ${errors.map(({ message }) => message).join(' ')} Reword it, or add ${allowancesOf(found)} to prompt_guard_allow.`;
  throw new AppError('prompt_injection_blocked', detail, { errors, reason: rulesOf(found) });
}

/** Findings of the prompt guard about a definition; none while the guard is disabled. */
export async function findingsOf(
  { app, batch }: Context,
  entity_type: Guarded,
  draft: Readonly<Record<string, unknown>>,
  stored: object | null = null,
): Promise<GuardFinding[]> {
  const { settings } = await (batch === undefined ? readSettings(app) : (batch.cache.settings ??= readSettings(app)));
  if (!guardEnabled(app.env, settings)) return [];
  const guard = await guardOf(app, settings);
  const own_name = entity_type === 'tool' ? String(draft['name']) : null;
  // An import or a rollback scans many definitions, so it reads the names once.
  const tool_names = await (batch === undefined ? toolNames(app) : (batch.cache.tool_names ??= toolNames(app)));
  const read = stored === null ? Object.keys(draft) : Object.keys(draft).filter((field) => changesAny(draft, stored, [field]));
  const fields = textsOf(Object.fromEntries(read.map((field) => [field, draft[field]])));
  return withVerdicts(guard, guard.scan(fields, { tool_names, own: own_name }));
}

const allowancesOf = (findings: readonly GuardFinding[]): string =>
  [...new Set(findings.map(({ allow }) => allow))].join(' and ');

const rulesOf = (findings: readonly { readonly rule: string }[]): string =>
  [...new Set(findings.map(({ rule }) => rule))].join(', ');

/** One finding per field, rule and verdict, although a field may have several texts, and whether it blocks. */
function withVerdicts(guard: Guard, all: readonly Finding[]): GuardFinding[] {
  const findings = [...new Map(all.map((one) => [`${one.field} ${one.rule} ${one.severity}`, one])).values()];
  const blocked = new Set(guard.blocked(findings));
  return findings.map((finding) => ({ ...finding, words: [...finding.words], blocked: blocked.has(finding) }));
}

/** The guard for these settings. Reading the model takes a few milliseconds, so it is cached until they change. */
async function guardOf(
  app: Platform,
  { prompt_guard_threshold: threshold, prompt_guard_allow: allow }: StoredSettings['settings'],
): Promise<Guard> {
  const key = JSON.stringify([threshold, allow]);
  const cached = app.guards.get(key);
  if (cached !== undefined) return cached;
  const { createGuard } = await import('#core/lib/prompt-guard/guard.ts');
  const guard = createGuard({ threshold, allow });
  app.guards.clear();
  app.guards.set(key, guard);
  return guard;
}

/** Names of tools that look like ordinary words in a text. A name with an underscore is recognised as an identifier anyway. */
async function toolNames({ store }: Platform): Promise<string[]> {
  const { tools } = store.tables;
  const rows = await store.db
    .select({ name: tools.name })
    .from(tools)
    .where(sql`${tools.name} not like '%!_%' escape '!'`);
  return rows.map(({ name }) => name);
}
