import type { LintFinding } from '#core/contract/lint.ts';
import { LINT_RULE_NAMES, LINT_RULES, type LintRule, MOST_TOOLSET_TOKENS } from '#core/contract/settings/lint-rules.ts';
import { createSlices } from '#core/lib/slices.ts';
import { createRanking, type Ranked, type Terms } from '#core/lib/search/ranking.ts';
import { type Holds, holdsOf, type SelectionRule } from '#snapshots/format/toolsets.ts';
import { type Compared, comparedOf, type Facts, toFinding } from './facts.ts';
import { createSimilarityIndex, type Similar, type SimilarityIndex } from './likeness.ts';
import type { RuleFinding, Subject } from './subject.ts';

/** Definitions that are served together, with what they have in common. One that enters or leaves costs about as much as it says. */
export interface DefinitionSet {
  move(removed: readonly Facts[], added: readonly Facts[]): Promise<void>;
  /** What is found in some of them, and in the toolsets that hold them. */
  lintSome(some: readonly Facts[], off: readonly LintRule[]): LintFinding[];
  /** What is found in one that may replace another of its id. @param rule of a toolset. */
  lintSubject(subject: Subject, off: readonly LintRule[], rule: SelectionRule | null): LintFinding[];
  /** Tools by how well they fit a question. @param toolset only those that it holds; null: when there is none of this name. */
  rankTools(question: string, toolset?: string): Ranked<Facts>[] | null;
  /** The words of the tools of these names. */
  termsOf(names: readonly string[]): Map<string, Terms>;
}

export function createDefinitionSet(): DefinitionSet {
  const texts = new Map<string, SimilarityIndex<Facts>>();
  const textsOf = (kind: string): SimilarityIndex<Facts> => {
    const known = texts.get(kind) ?? createSimilarityIndex<Facts>();
    texts.set(kind, known);
    return known;
  };
  /** Tools by the stems of their names, sorted by name. */
  const stems = new Map<string, Facts[]>();
  const members = new Set<Facts>();
  const ranking = createRanking<Facts>();
  /** The tokens of what each toolset holds. */
  const toolsets = new Map<Facts, number>();

  /** @param sign whether the tokens of a definition are counted or not any more. */
  const count = (one: Facts, sign: 1 | -1): void => {
    for (const [toolset, tokens] of toolsets) if (isIn(toolset, one)) toolsets.set(toolset, tokens + sign * one.tokens);
  };
  const tokensOf = (holds: Holds): number => {
    let sum = 0;
    for (const { member, tokens } of members) if (member !== null && holds(member)) sum += tokens;
    return sum;
  };
  const remove = (one: Facts): void => {
    if (toolsets.delete(one) || !members.delete(one)) return;
    count(one, -1);
    if (one.entity.kind !== 'tool') return;
    ranking.remove(one);
    const same = (stems.get(one.stem) ?? []).filter((other) => other !== one);
    if (same.length === 0) stems.delete(one.stem);
    else stems.set(one.stem, same);
  };
  const add = (one: Facts): void => {
    members.add(one);
    count(one, 1);
    if (one.entity.kind !== 'tool') return;
    if (one.texts !== null) ranking.add(one, one.texts.terms);
    const same = stems.get(one.stem);
    if (same === undefined) stems.set(one.stem, [one]);
    else same.splice(same.findLastIndex(({ name }) => name < one.name) + 1, 0, one);
  };

  const lint = (one: Compared, like: Similar<Facts> | null, tokens: number): LintFinding[] => {
    const { kind, id } = one.entity;
    const named = kind !== 'tool' ? [] : (stems.get(one.stem) ?? []).slice(0, NAMED + 1).filter(({ entity }) => entity.id !== id);
    const found: RuleFinding[] = [
      ...(JSON.parse(one.own) as RuleFinding[]),
      ...(like === null ? [] : [similarText(like.other.name, like.share)]),
      ...(named.length === 0 ? [] : [similarName(named.map(({ name }) => name))]),
      ...(tokens > MOST_TOOLSET_TOKENS ? [largeToolset(tokens)] : []),
    ];
    return found.map((each) => toFinding(one.entity, each));
  };

  return {
    async move(removed, added) {
      const turn = createSlices();
      for (const one of removed) {
        remove(one);
        await turn();
      }
      for (const one of added) {
        if (one.holds === null) add(one);
        await turn();
      }
      for (const one of added) {
        if (one.holds !== null) toolsets.set(one, tokensOf(one.holds));
        await turn();
      }
      const [gone, fresh] = [removed, added].map((list) => Map.groupBy(list, ({ entity }) => entity.kind));
      for (const kind of new Set([...(gone?.keys() ?? []), ...(fresh?.keys() ?? [])])) {
        if (kind !== 'toolset') await textsOf(kind).move(gone?.get(kind) ?? [], fresh?.get(kind) ?? [], turn);
      }
    },
    lintSome(some, off) {
      const wanted = new Set(some);
      for (const toolset of toolsets.keys()) {
        if (!wanted.has(toolset) && some.some((one) => isIn(toolset, one))) wanted.add(toolset);
      }
      return inOrder(
        [...wanted].flatMap((one) => lint(one, textsOf(one.entity.kind).likeOf(one), toolsets.get(one) ?? 0)),
        off,
      );
    },
    lintSubject(subject, off, rule) {
      const one = comparedOf(subject);
      const like = textsOf(subject.kind).likeAny(one.grams, ({ entity }) => entity.id === subject.id);
      return inOrder(lint(one, like, rule === null ? 0 : tokensOf(holdsOf(rule))), off);
    },
    rankTools(question, toolset) {
      const holder = toolset === undefined ? undefined : [...toolsets.keys()].find(({ name }) => name === toolset);
      if (toolset !== undefined && holder === undefined) return null;
      const isWanted = holder === undefined ? undefined : (one: Facts) => isIn(holder, one);
      return ranking.rank(question, (a, b) => (a.name < b.name ? -1 : 1), isWanted);
    },
    termsOf(names) {
      const wanted = new Set(names);
      const found = new Map<string, Terms>();
      for (const { name, texts: read } of members) if (read !== null && wanted.has(name)) found.set(name, read.terms);
      return found;
    },
  };
}

const isIn = ({ holds }: Facts, { member }: Facts): boolean => holds !== null && member !== null && holds(member);

const largeToolset = (tokens: number): RuleFinding => {
  const [count, most] = [tokens, MOST_TOOLSET_TOKENS].map((number) => number.toLocaleString('en'));
  const message = `The lists of this toolset take about ${count} tokens of every conversation, more than ${most}. Split it, or shorten descriptions.`;
  return { rule: 'toolset-tokens', field: 'include', message };
};

const similarText = (other: string, share: number): RuleFinding => ({
  rule: 'description-similar',
  field: 'description',
  message: `The description is ${Math.round(share * 100)}% the same as that of ${other}. Say when to use which.`,
});

/** Names that a sentence lists. */
const NAMED = 5;
const similarName = (names: readonly string[]): RuleFinding => ({
  rule: 'similar-names',
  field: 'name',
  message: `The name differs little from ${names.slice(0, NAMED).join(', ')}. Models confuse such tools; name the difference.`,
});

const SERIOUS: readonly LintFinding['severity'][] = ['error', 'warning', 'info'];
const BY_WEIGHT = LINT_RULE_NAMES.toSorted(
  (a, b) => SERIOUS.indexOf(LINT_RULES[a].severity) - SERIOUS.indexOf(LINT_RULES[b].severity),
);

/** The most serious first; what one rule found stays in the order of the definitions. */
function inOrder(findings: readonly LintFinding[], off: readonly LintRule[]): LintFinding[] {
  const by_rule = Map.groupBy(findings, ({ rule }) => rule);
  return BY_WEIGHT.flatMap((rule) => (off.includes(rule) ? [] : (by_rule.get(rule) ?? [])));
}
