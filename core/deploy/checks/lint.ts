import type { App } from '#core/app.ts';
import { DEFINITION_KINDS, type DefinitionKind } from '#core/contract/entities.ts';
import type { LintFinding } from '#core/contract/lint.ts';
import { LINT_RULE_NAMES, LINT_RULES, type LintRule } from '#core/contract/settings/lint-rules.ts';
import { factsOf, type Facts, lintAll, lintSome, lintSubject } from '#core/definitions/lint/lint.ts';
import { ofPromptDraft, ofResourceDraft, ofToolDraft, ofToolsetDraft, type Subject } from '#core/definitions/lint/subject.ts';
import { readSettings } from '#core/definitions/settings/settings.ts';
import { AppError } from '#core/errors.ts';
import { createSlices } from '#core/lib/slices.ts';
import type { Context, Handlers } from '#core/run.ts';
import type { SelectionRule } from '#snapshots/toolsets.ts';
import { keyOf, type Leaf, type Tree } from '#snapshots/tree.ts';
import { textsIn } from '../pending.ts';
import { type Definition, readDefinitions, readWorkingCopy } from '../working-copy.ts';

type Texts = (leaves: readonly Leaf[]) => Promise<ReadonlyMap<string, string>>;

/** What the rules know of frozen definitions, by hash, and what was found last. */
export interface LintCache {
  facts: ReadonlyMap<string, Facts>;
  /** Findings of whole trees, by checksum and the rules that are off. */
  readonly trees: Map<string, readonly LintFinding[]>;
}
export const createLintCache = (): LintCache => ({ facts: new Map(), trees: new Map() });
/** The working copy and what is served. */
const KEPT_TREES = 2;
/** Texts that are read together. */
const PAGE = 500;

export const lintHandlers: Pick<Handlers, 'lint.list' | 'lint.rules'> = {
  'lint.list': async ({ app }, { owner, rule, severity, skip, limit }) => {
    const found = owner === undefined ? await lintWorkingCopy(app) : await lintOwner(app, owner);
    const items = found.filter(
      (one) => (rule === undefined || one.rule === rule) && (severity === undefined || one.severity === severity),
    );
    return { items: items.slice(skip, skip + limit), total: items.length };
  },
  'lint.rules': async ({ app }) => {
    const off = await rulesOff(app);
    const items = LINT_RULE_NAMES.map((rule) => ({ rule, ...LINT_RULES[rule], enabled: !off.includes(rule) }));
    return { items, total: items.length };
  },
};

const rulesOff = async (app: App) => (await readSettings(app)).settings.lint_off;

/** Everything that is found in what the next deploy would serve. */
async function lintWorkingCopy(app: App): Promise<readonly LintFinding[]> {
  const { view } = await readWorkingCopy(app);
  return lintTree(app, view.frozen().tree, textsIn(app, view.textOf));
}

/** Everything that is found in the definitions of a tree. What did not change is not read again. */
async function lintTree(app: App, tree: Pick<Tree, 'checksum' | 'leaves'>, texts: Texts): Promise<readonly LintFinding[]> {
  const off = await rulesOff(app);
  const { trees } = app.lint;
  const key = JSON.stringify([tree.checksum, off]);
  const known = trees.get(key);
  if (known !== undefined) return known;
  const found = await lintAll(await factsIn(app, tree.leaves, texts), off);
  trees.set(key, found);
  for (const [oldest] of [...trees].slice(0, -KEPT_TREES)) trees.delete(oldest);
  return found;
}

/** What is found in some of the definitions of a tree, and in the toolsets that hold them. */
export async function lintLeaves(
  app: App,
  { leaves }: Pick<Tree, 'leaves'>,
  some: readonly Leaf[],
  texts: Texts,
): Promise<readonly LintFinding[]> {
  const all = await factsIn(app, leaves, texts);
  const wanted = new Set(some.map(keyOf));
  return lintSome(
    all.filter(({ entity }) => wanted.has(keyOf(entity))),
    all,
    await rulesOff(app),
  );
}

const isDefinition = (leaf: Leaf): leaf is Leaf & { readonly kind: DefinitionKind } =>
  (DEFINITION_KINDS as readonly string[]).includes(leaf.kind);

async function factsIn(app: App, leaves: readonly Leaf[], texts: Texts): Promise<Facts[]> {
  const definitions = leaves.filter(isDefinition);
  const known = app.lint.facts;
  const facts = new Map(known);
  const missing = definitions.filter(({ hash }) => !known.has(hash));
  const turn = createSlices();
  for (let start = 0; start < missing.length; start += PAGE) {
    const page = missing.slice(start, start + PAGE);
    const read = await texts(page);
    for (const { kind, hash } of page) {
      facts.set(hash, factsOf(kind, JSON.parse(read.get(hash) ?? '{}') as object));
      await turn();
    }
  }
  // What two trees do not have is gone; more is kept only until the next time.
  if (facts.size > KEPT_TREES * definitions.length + PAGE) {
    app.lint.facts = new Map(definitions.map(({ hash }) => [hash, facts.get(hash) as Facts]));
  } else app.lint.facts = facts;
  return definitions.flatMap(({ hash }) => facts.get(hash) ?? []);
}

/** What else the next deploy would serve. */
async function factsOfWorkingCopy(app: App): Promise<Facts[]> {
  const { view } = await readWorkingCopy(app);
  return factsIn(app, view.frozen().tree.leaves, textsIn(app, view.textOf));
}

/** What is found in a draft that may replace a stored definition of its id. */
export async function lintDraft({ app }: Context, subject: Subject, rule: SelectionRule | null = null): Promise<LintFinding[]> {
  const [off, all] = await Promise.all([rulesOff(app), factsOfWorkingCopy(app)]);
  return lintSubject(subject, all, off, rule);
}

/** @param owner such as `tool:<id>`. */
async function lintOwner(app: App, owner: string): Promise<LintFinding[]> {
  const [kind, id] = owner.split(':') as [DefinitionKind, string];
  const found = await lintStored(app, kind, id);
  if (found === null) throw new AppError('not_found', `There is no ${kind} with this id.`);
  return found;
}

/** What is found in one stored definition, with every fix; null when there is none. */
export async function lintStored(app: App, kind: DefinitionKind, id: string): Promise<LintFinding[] | null> {
  const [stored] = await readDefinitions(app, app.store.db, kind, [id]);
  if (stored === undefined) return null;
  const [off, all] = await Promise.all([rulesOff(app), factsOfWorkingCopy(app)]);
  return lintOf(kind, stored, off, all);
}

/** The same of several tools, by id. */
export async function lintStoredTools(app: App, ids: readonly string[]): Promise<ReadonlyMap<string, LintFinding[]>> {
  if (ids.length === 0) return new Map();
  const stored = await readDefinitions(app, app.store.db, 'tool', ids);
  const [off, all] = await Promise.all([rulesOff(app), factsOfWorkingCopy(app)]);
  return new Map(stored.map((one) => [one.row.id, lintOf('tool', one, off, all)]));
}

function lintOf(
  kind: DefinitionKind,
  { row, compiled }: Definition,
  off: readonly LintRule[],
  all: readonly Facts[],
): LintFinding[] {
  const known = compiled ?? null;
  if ((kind === 'tool' || kind === 'resource') && known === null) return [];
  const toSubject = { tool: ofToolDraft, resource: ofResourceDraft, prompt: ofPromptDraft, toolset: ofToolsetDraft }[kind];
  const rule = kind === 'toolset' ? (row as unknown as SelectionRule) : null;
  return lintSubject(toSubject(row as never, known as never), all, off, rule);
}
