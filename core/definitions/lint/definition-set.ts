import type { LintFinding } from '#core/contract/lint.ts';
import { LINT_RULE_NAMES, LINT_RULES, type LintRule } from '#core/contract/settings/lint-rules.ts';
import { createSlices } from '#core/lib/slices.ts';
import { createRanking, type Ranked, type Terms } from '#core/lib/search/ranking.ts';
import { type Holds, holdsOf, type SelectionRule } from '#snapshots/format/toolsets.ts';
import { budgetOf, type Compared, comparedOf, type Facts, toFinding } from './facts.ts';
import { createSimilarityIndex, type Similar, type SimilarityIndex } from './likeness.ts';
import type { RuleFinding, Subject } from './subject.ts';

/** Definitions that are served together, indexed for the rules that compare them. Adding and removing one is cheap. */
export interface DefinitionSet {
  move(removed: readonly Facts[], added: readonly Facts[]): Promise<void>;
  /** Findings in some of them, and in the toolsets that contain them. */
  lintSome(some: readonly Facts[], off: readonly LintRule[]): LintFinding[];
  /** Findings in a definition, as if it replaced the one with its id. @param rule selection rule of a toolset, with its budget. */
  lintSubject(subject: Subject, off: readonly LintRule[], rule: SelectionRule | null): LintFinding[];
  /** Tools, ranked by how well they fit a question. @param toolset limits them to its members. @returns null when it does not exist. */
  rankTools(question: string, toolset?: string): Ranked<Facts>[] | null;
  /** The search terms of tools, by name. */
  termsOf(names: readonly string[]): Map<string, Terms>;
}

export const createDefinitionSet = (): DefinitionSet => new IndexedDefinitions();

class IndexedDefinitions implements DefinitionSet {
  readonly #texts = new Map<string, SimilarityIndex<Facts>>();
  /** Tools by the stems of their names, sorted by name. */
  readonly #stems = new Map<string, Facts[]>();
  readonly #members = new Set<Facts>();
  readonly #ranking = createRanking<Facts>();
  /** Tokens of the members of each toolset. */
  readonly #toolsets = new Map<Facts, number>();

  async move(removed: readonly Facts[], added: readonly Facts[]): Promise<void> {
    const turn = createSlices();
    for (const one of removed) {
      this.#remove(one);
      await turn();
    }
    for (const one of added) {
      if (one.holds === null) this.#add(one);
      await turn();
    }
    for (const one of added) {
      if (one.holds !== null) this.#toolsets.set(one, this.#tokensOf(one.holds));
      await turn();
    }
    const [gone, fresh] = [removed, added].map((list) => Map.groupBy(list, ({ entity }) => entity.kind));
    for (const kind of new Set([...(gone?.keys() ?? []), ...(fresh?.keys() ?? [])])) {
      if (kind !== 'toolset') await this.#textsOf(kind).move(gone?.get(kind) ?? [], fresh?.get(kind) ?? [], turn);
    }
  }

  lintSome(some: readonly Facts[], off: readonly LintRule[]): LintFinding[] {
    const selected = new Set(some);
    for (const toolset of this.#toolsets.keys()) {
      if (!selected.has(toolset) && some.some((one) => isIn(toolset, one))) selected.add(toolset);
    }
    return inOrder(
      [...selected].flatMap((one) =>
        this.#lint(one, this.#textsOf(one.entity.kind).likeOf(one), this.#toolsets.get(one) ?? 0, one.budget),
      ),
      off,
    );
  }

  lintSubject(subject: Subject, off: readonly LintRule[], rule: SelectionRule | null): LintFinding[] {
    const one = comparedOf(subject);
    const like = this.#textsOf(subject.kind).likeAny(one.grams, ({ entity }) => entity.id === subject.id);
    return inOrder(this.#lint(one, like, rule === null ? 0 : this.#tokensOf(holdsOf(rule)), budgetOf(rule ?? {})), off);
  }

  rankTools(question: string, toolset?: string): Ranked<Facts>[] | null {
    const holder = toolset === undefined ? undefined : [...this.#toolsets.keys()].find(({ name }) => name === toolset);
    if (toolset !== undefined && holder === undefined) return null;
    const isMember = holder === undefined ? undefined : (one: Facts) => isIn(holder, one);
    return this.#ranking.rank(question, (a, b) => (a.name < b.name ? -1 : 1), isMember);
  }

  termsOf(names: readonly string[]): Map<string, Terms> {
    const requested = new Set(names);
    const terms = new Map<string, Terms>();
    for (const { name, texts: read } of this.#members) if (read !== null && requested.has(name)) terms.set(name, read.terms);
    return terms;
  }

  #textsOf(kind: string): SimilarityIndex<Facts> {
    const known = this.#texts.get(kind) ?? createSimilarityIndex<Facts>();
    this.#texts.set(kind, known);
    return known;
  }

  /** Adds the tokens of a definition to its toolsets, or subtracts them. */
  #count(one: Facts, sign: 1 | -1): void {
    for (const [toolset, tokens] of this.#toolsets)
      if (isIn(toolset, one)) this.#toolsets.set(toolset, tokens + sign * one.tokens);
  }

  #tokensOf(holds: Holds): number {
    let sum = 0;
    for (const { member, tokens } of this.#members) if (member !== null && holds(member)) sum += tokens;
    return sum;
  }

  #remove(one: Facts): void {
    if (this.#toolsets.delete(one) || !this.#members.delete(one)) return;
    this.#count(one, -1);
    if (one.entity.kind !== 'tool') return;
    this.#ranking.remove(one);
    const same = (this.#stems.get(one.stem) ?? []).filter((other) => other !== one);
    if (same.length === 0) this.#stems.delete(one.stem);
    else this.#stems.set(one.stem, same);
  }

  #add(one: Facts): void {
    this.#members.add(one);
    this.#count(one, 1);
    if (one.entity.kind !== 'tool') return;
    if (one.texts !== null) this.#ranking.add(one, one.texts.terms);
    const same = this.#stems.get(one.stem);
    if (same === undefined) this.#stems.set(one.stem, [one]);
    else same.splice(same.findLastIndex(({ name }) => name < one.name) + 1, 0, one);
  }

  #lint(one: Compared, like: Similar<Facts> | null, tokens: number, budget: number): LintFinding[] {
    const { kind, id } = one.entity;
    const named =
      kind !== 'tool' ? [] : (this.#stems.get(one.stem) ?? []).slice(0, MAX_NAMES + 1).filter(({ entity }) => entity.id !== id);
    const found: RuleFinding[] = [
      ...(JSON.parse(one.findings) as RuleFinding[]),
      ...(like === null ? [] : [similarText(like.other.name, like.share)]),
      ...(named.length === 0 ? [] : [similarName(named.map(({ name }) => name))]),
      ...(tokens > budget ? [largeToolset(tokens, budget)] : []),
    ];
    return found.map((each) => toFinding(one.entity, each));
  }
}

const isIn = ({ holds }: Facts, { member }: Facts): boolean => holds !== null && member !== null && holds(member);

const largeToolset = (tokens: number, budget: number): RuleFinding => {
  const [count, most] = [tokens, budget].map((number) => number.toLocaleString('en'));
  const message = `The lists of this toolset take about ${count} tokens of every conversation, more than its budget of ${most}. Split it, or shorten descriptions.`;
  return { rule: 'toolset-tokens', field: 'include', message };
};

const similarText = (other: string, share: number): RuleFinding => ({
  rule: 'description-similar',
  field: 'description',
  message: `The description is ${Math.round(share * 100)}% the same as that of ${other}. Say when to use which.`,
});

/** Names in one message. */
const MAX_NAMES = 5;
const similarName = (names: readonly string[]): RuleFinding => ({
  rule: 'similar-names',
  field: 'name',
  message: `The name differs little from ${names.slice(0, MAX_NAMES).join(', ')}. Models confuse such tools; name the difference.`,
});

const SERIOUS: readonly LintFinding['severity'][] = ['error', 'warning', 'info'];
const BY_WEIGHT = LINT_RULE_NAMES.toSorted(
  (a, b) => SERIOUS.indexOf(LINT_RULES[a].severity) - SERIOUS.indexOf(LINT_RULES[b].severity),
);

/** Sorts by severity. Findings of one rule stay in the order of the definitions. */
function inOrder(findings: readonly LintFinding[], off: readonly LintRule[]): LintFinding[] {
  const by_rule = Map.groupBy(findings, ({ rule }) => rule);
  return BY_WEIGHT.flatMap((rule) => (off.includes(rule) ? [] : (by_rule.get(rule) ?? [])));
}
