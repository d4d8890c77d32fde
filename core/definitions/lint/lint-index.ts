import type { WithVersions } from '#core/versions/versions.ts';
import type { WithSources } from '#core/sources/source-pool.ts';
import { textsIn } from '#core/versions/stored-snapshots.ts';
import { type Definition, readDefinitions, readWorkingCopy } from '#core/versions/working-copy.ts';
import type { Platform } from '#core/platform/platform.ts';
import { DEFINITION_KINDS, type DefinitionKind } from '#core/contract/entities.ts';
import type { LintFinding } from '#core/contract/lint.ts';
import { LINT_RULE_NAMES, LINT_RULES, type LintRule } from '#core/contract/settings/lint-rules.ts';
import { type Facts, factsOf } from '#core/definitions/lint/facts.ts';
import { createDefinitionSet, type DefinitionSet } from './definition-set.ts';
import { ofPromptDraft, ofResourceDraft, ofToolDraft, ofToolsetDraft, type Subject } from '#core/definitions/lint/subject.ts';
import { createCollection } from '#core/platform/collect-garbage.ts';
import { readSettings, type Settings } from '#core/settings/settings.ts';
import { AppError } from '#core/errors.ts';
import { createRecentMap, type RecentMap } from '#core/lib/recent-map.ts';
import type { Ranked, Terms } from '#core/lib/search/ranking.ts';
import { createSlices, pagesOf } from '#core/lib/slices.ts';
import type { Context, Handlers } from '#core/context/context.ts';
import { createLock, type Lock } from '#core/store/open.ts';
import type { SelectionRule } from '#snapshots/format/toolsets.ts';
import { differingIn, type Leaf, type Tree } from '#snapshots/format/tree.ts';

type Texts = (leaves: readonly Leaf[]) => Promise<ReadonlyMap<string, string>>;

/** The indexed definitions of one tree. Moving to another tree processes only what differs. */
export interface LintIndex {
  /** Serializes moves and reads. */
  readonly lock: Lock;
  definitions: DefinitionSet;
  /** The tree whose definitions are indexed. */
  tree: Tree | null;
  facts: Map<string, Facts>;
  /** Facts of removed definitions, by hash, because definitions are often added again. */
  readonly removed: RecentMap<Facts>;
  /** All findings in the tree, and the disabled rules at that time. */
  found: { readonly off: readonly LintRule[]; readonly all: readonly LintFinding[] } | null;
}
export const createLintIndex = (): LintIndex => ({
  lock: createLock(),
  definitions: createDefinitionSet(),
  tree: null,
  facts: new Map(),
  removed: createRecentMap(MAX_REMOVED),
  found: null,
});
const MAX_REMOVED = 2_000;
const TEXTS_PER_READ = 500;

export const lintHandlers: Pick<Handlers<WithSources & WithLint & WithVersions>, 'lint.list' | 'lint.rules'> = {
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

export const rulesOff = async (app: Platform) => (await readSettings(app)).settings.lint_off;

/** All findings in the next deploy. */
async function lintWorkingCopy(app: LintApp): Promise<readonly LintFinding[]> {
  const off = await rulesOff(app);
  return inWorkingCopy(app, (index) => {
    if (index.found === null || index.found.off.join() !== off.join()) {
      index.found = {
        off,
        all: index.definitions.lintSome(
          (index.tree?.leaves ?? []).flatMap(({ hash }) => index.facts.get(hash) ?? []),
          off,
        ),
      };
    }
    return index.found.all;
  });
}

/** Findings in some of the definitions of a tree, and in the toolsets that contain them. */
export async function lintLeaves(
  app: Platform & WithLint,
  tree: Tree,
  some: readonly Leaf[],
  texts: Texts,
  off: Settings['lint_off'],
): Promise<readonly LintFinding[]> {
  return inTree(app, tree, texts, ({ definitions, facts }) =>
    definitions.lintSome(
      some.flatMap(({ hash }) => facts.get(hash) ?? []),
      off,
    ),
  );
}

/** Reads the index of the next deploy. */
async function inWorkingCopy<T>(app: LintApp, read: (index: LintIndex) => T): Promise<T> {
  const { view } = await readWorkingCopy(app);
  return inTree(app, view.frozen().tree, textsIn(app, view.textOf), read);
}

const isDefinition = (leaf: Leaf): leaf is Leaf & { readonly kind: DefinitionKind } =>
  (DEFINITION_KINDS as readonly string[]).includes(leaf.kind);

/** @param read gets the index, moved to this tree. */
async function inTree<T>(app: Platform & WithLint, tree: Tree, texts: Texts, read: (index: LintIndex) => T): Promise<T> {
  const index = app.lint;
  const facts = new Map<string, Facts>();
  for (;;) {
    const { now } = differingIn(index.tree, tree);
    const missing = now.filter(isDefinition).filter(({ hash }) => !facts.has(hash) && !index.removed.get(hash));
    const turn = createSlices();
    const collect = createCollection();
    for (const page of pagesOf(missing, TEXTS_PER_READ)) {
      const text_of = await texts(page);
      for (const { kind, hash } of page) {
        facts.set(hash, factsOf(kind, JSON.parse(text_of.get(hash) ?? '{}') as object));
        await turn();
      }
      collect(page.length);
    }
    const answer = await index.lock(async () => ((await moveTo(index, tree, facts)) ? { value: read(index) } : null));
    if (answer !== null) return answer.value;
  }
}

/** @returns false when facts are missing, because the index was moved since they were read. */
async function moveTo(index: LintIndex, tree: Tree, read: ReadonlyMap<string, Facts>): Promise<boolean> {
  const { old, now } = differingIn(index.tree, tree);
  const [gone, entered] = [old.filter(isDefinition), now.filter(isDefinition)];
  const added: Facts[] = [];
  for (const { hash } of entered) {
    const facts = read.get(hash) ?? index.removed.get(hash);
    if (facts === undefined) return false;
    added.push(facts);
  }
  const { facts } = index;
  try {
    if (gone.length + entered.length > 0) index.found = null;
    await index.definitions.move(
      gone.flatMap(({ hash }) => facts.get(hash) ?? []),
      added,
    );
  } catch (error) {
    // The move may have stopped halfway.
    Object.assign(index, { definitions: createDefinitionSet(), tree: null, facts: new Map(), found: null });
    throw error;
  }
  for (const { hash } of gone) {
    const one = facts.get(hash);
    facts.delete(hash);
    if (one !== undefined) index.removed.set(hash, one);
  }
  for (const [n, { hash }] of entered.entries()) {
    index.removed.delete(hash);
    facts.set(hash, added[n] as Facts);
  }
  index.tree = tree;
  return true;
}

/** The tools of the next deploy, ranked by how well they fit a question. Null when the toolset does not exist. */
export const rankTools = (app: LintApp, question: string, toolset?: string): Promise<readonly Ranked<Facts>[] | null> =>
  inWorkingCopy(app, ({ definitions }) => definitions.rankTools(question, toolset));

/** The search terms of tools, by name. */
export const termsOfTools = (app: LintApp, names: readonly string[]): Promise<ReadonlyMap<string, Terms>> =>
  inWorkingCopy(app, ({ definitions }) => definitions.termsOf(names));

/** Findings in a draft, as if it replaced the stored definition with its id. */
export async function lintDraft(
  { app }: Context<WithSources & WithLint & WithVersions>,
  subject: Subject,
  rule: SelectionRule | null = null,
): Promise<LintFinding[]> {
  const off = await rulesOff(app);
  return inWorkingCopy(app, ({ definitions }) => definitions.lintSubject(subject, off, rule));
}

/** @param owner such as `tool:<id>`. */
async function lintOwner(app: LintApp, owner: string): Promise<LintFinding[]> {
  const [kind, id] = owner.split(':') as [DefinitionKind, string];
  const found = await lintStored(app, kind, [id]);
  if (found.size === 0) throw new AppError('not_found', `There is no ${kind} with this id.`);
  return found.get(id) ?? [];
}

/** Findings in stored definitions, with all fixes, by id. */
export async function lintStored(
  app: LintApp,
  kind: DefinitionKind,
  ids: readonly string[],
): Promise<ReadonlyMap<string, LintFinding[]>> {
  if (ids.length === 0) return new Map();
  const stored = await readDefinitions(app, app.store.db, kind, ids);
  const off = await rulesOff(app);
  return inWorkingCopy(
    app,
    ({ definitions }) => new Map(stored.map((one) => [one.row.id, lintOne(definitions, kind, one, off)])),
  );
}

function lintOne(
  definitions: DefinitionSet,
  kind: DefinitionKind,
  { row, compiled }: Definition,
  off: readonly LintRule[],
): LintFinding[] {
  const known = compiled ?? null;
  if ((kind === 'tool' || kind === 'resource') && known === null) return [];
  const toSubject = { tool: ofToolDraft, resource: ofResourceDraft, prompt: ofPromptDraft, toolset: ofToolsetDraft }[kind];
  const rule = kind === 'toolset' ? (row as unknown as SelectionRule) : null;
  return definitions.lintSubject(toSubject(row as never, known as never), off, rule);
}

export interface WithLint {
  readonly lint: LintIndex;
}

export type LintApp = Platform & WithLint & WithVersions;

export const createLint = (): WithLint => ({ lint: createLintIndex() });
