import type { DefinitionKind } from '#core/contract/entities.ts';
import type { LintFinding } from '#core/contract/lint.ts';
import { LINT_RULE_NAMES, LINT_RULES, type LintRule, MOST_TOOLSET_TOKENS } from '#core/contract/settings/lint-rules.ts';
import { createSlices } from '#core/lib/slices.ts';
import { estimateTokens } from '#core/lib/tokens.ts';
import type { FrozenPrompt, FrozenResource, FrozenTool, FrozenToolset } from '#snapshots/format.ts';
import { holdsOf, ofPrompt, ofResource, ofTool, type Selectable, type SelectionRule } from '#snapshots/toolsets.ts';
import { stemOf } from './names.ts';
import { type Grams, gramsOf, likeEach, likeOne } from './similar.ts';
import { statementRules } from './statements.ts';
import { type Found, ofFrozen, type Subject } from './subject.ts';
import { descriptionRule, parameterRules, secretRule } from './texts.ts';

/** The rules that look at one definition alone. */
const OWN_RULES: readonly ((subject: Subject) => Found[])[] = [descriptionRule, parameterRules, statementRules, secretRule];

/** What the rules need of a definition to compare it with others, and what they found in it alone. */
export interface Facts {
  readonly entity: LintFinding['entity'];
  readonly own: readonly Found[];
  readonly grams: Grams;
  readonly stem: string;
  /** What its entry in the list costs a model. */
  readonly tokens: number;
  /** Null for a toolset. */
  readonly member: Selectable | null;
  /** Null for anything but a toolset. */
  readonly rule: SelectionRule | null;
}

type Compared = Pick<Facts, 'entity' | 'own' | 'grams' | 'stem'>;

/** @param others what else is served; the definition itself is passed over. @param rule of a toolset. */
export const lintSubject = (
  subject: Subject,
  others: readonly Facts[],
  off: readonly LintRule[],
  rule: SelectionRule | null,
): LintFinding[] => lintOne({ ...comparedOf(subject), rule }, others, off);

function lintOne(one: Compared & Pick<Facts, 'rule'>, all: readonly Facts[], off: readonly LintRule[]): LintFinding[] {
  const { kind, id } = one.entity;
  const rest = all.filter(({ entity }) => entity.kind === kind && entity.id !== id);
  const like = likeOne(one.grams, rest);
  const named = kind === 'tool' ? rest.filter(({ stem }) => stem === one.stem) : [];
  return inOrder(
    [
      ...one.own,
      ...(like === null ? [] : [similarText(like.other.entity.name, like.share)]),
      ...(named.length === 0 ? [] : [similarName(named.map(({ entity }) => entity.name))]),
      ...largeToolset(one, all),
    ].map((found) => toFinding(one.entity, found)),
    off,
  );
}

/** From so many definitions on, all of them are compared at once. */
const MANY = 200;

/** What is found in some of the definitions that are served together, and in the toolsets that hold them. */
export async function lintSome(some: readonly Facts[], all: readonly Facts[], off: readonly LintRule[]): Promise<LintFinding[]> {
  const toolsets = all.filter(({ rule, entity }) => {
    const holds = rule === null ? null : holdsOf(rule);
    return holds !== null && some.some((one) => one.entity.id === entity.id || (one.member !== null && holds(one.member)));
  });
  const wanted = new Set([...some, ...toolsets].map(({ entity }) => entity));
  if (wanted.size > MANY) return (await lintAll(all, off)).filter(({ entity }) => wanted.has(entity));
  const turn = createSlices();
  const found: LintFinding[] = [];
  for (const one of new Set([...some, ...toolsets])) {
    await turn();
    found.push(...lintOne(one, all, off));
  }
  return inOrder(found, off);
}

function comparedOf(subject: Subject): Compared {
  const { kind, id, name, description } = subject;
  return {
    entity: { kind, id, name },
    own: OWN_RULES.flatMap((rule) => rule(subject)),
    grams: kind === 'toolset' ? gramsOf('') : gramsOf(description),
    stem: stemOf(name),
  };
}

const MEMBERS = {
  tool: (frozen: object) => ofTool(frozen as FrozenTool),
  resource: (frozen: object) => ofResource(frozen as FrozenResource),
  prompt: (frozen: object) => ofPrompt(frozen as FrozenPrompt),
  toolset: () => null,
} as const satisfies Readonly<Record<DefinitionKind, (frozen: object) => Selectable | null>>;

/** The facts of what is frozen. Its text may not be what somebody wrote, so no fix of a statement is kept. */
export function factsOf(kind: DefinitionKind, frozen: object): Facts {
  const compared = comparedOf(ofFrozen(kind, frozen));
  const { listing } = frozen as Partial<FrozenTool>;
  return {
    ...compared,
    own: compared.own.map(({ fix, ...found }) => (fix === undefined || 'sql_query' in fix.changes ? found : { ...found, fix })),
    tokens: listing === undefined ? 0 : estimateTokens(JSON.stringify(listing)),
    member: MEMBERS[kind](frozen),
    rule: kind === 'toolset' ? (frozen as FrozenToolset) : null,
  };
}

/** Everything that is found in definitions that are served together, the most serious first. */
export async function lintAll(all: readonly Facts[], off: readonly LintRule[]): Promise<LintFinding[]> {
  const turn = createSlices();
  const found = all.flatMap(({ entity, own }) => own.map((one) => toFinding(entity, one)));
  for (const [kind, some] of Map.groupBy(all, ({ entity }) => entity.kind)) {
    if (kind === 'toolset') continue;
    for (const [{ entity }, { other, share }] of await likeEach(some, turn)) {
      found.push(toFinding(entity, similarText(other.entity.name, share)));
    }
  }
  const tools = all.filter(({ entity }) => entity.kind === 'tool');
  for (const same of Map.groupBy(tools, ({ stem }) => stem).values()) {
    if (same.length < 2) continue;
    const names = same.slice(0, TOLD + 1).map(({ entity }) => entity.name);
    for (const { entity } of same) {
      found.push(toFinding(entity, similarName(names.filter((name) => name !== entity.name))));
    }
  }
  for (const toolset of all) {
    await turn();
    for (const one of largeToolset(toolset, all)) found.push(toFinding(toolset.entity, one));
  }
  return inOrder(found, off);
}

/** Whether the lists of a toolset are too long. */
function largeToolset({ rule }: Pick<Facts, 'rule'>, all: readonly Facts[]): Found[] {
  if (rule === null) return [];
  const holds = holdsOf(rule);
  const members = all.filter(({ member }) => member !== null && holds(member));
  const tokens = members.reduce((sum, one) => sum + one.tokens, 0);
  if (tokens <= MOST_TOOLSET_TOKENS) return [];
  const [count, most] = [tokens, MOST_TOOLSET_TOKENS].map((number) => number.toLocaleString('en'));
  const message = `The lists of this toolset take about ${count} tokens of every conversation, more than ${most}. Split it, or shorten descriptions.`;
  return [{ rule: 'toolset-tokens', field: 'include', message }];
}

const similarText = (other: string, share: number): Found => ({
  rule: 'description-similar',
  field: 'description',
  message: `The description is ${Math.round(share * 100)}% the same as that of ${other}. Say when to use which.`,
});

/** Names that a sentence lists. */
const TOLD = 5;
const similarName = (names: readonly string[]): Found => ({
  rule: 'similar-names',
  field: 'name',
  message: `The name differs little from ${names.slice(0, TOLD).join(', ')}. Models confuse such tools; name the difference.`,
});

const toFinding = (entity: LintFinding['entity'], { rule, field, message, fix }: Found): LintFinding => ({
  rule,
  severity: LINT_RULES[rule].severity,
  entity,
  field,
  message,
  ...(fix === undefined ? {} : { fix }),
});

const SERIOUS: readonly LintFinding['severity'][] = ['error', 'warning', 'info'];

function inOrder(findings: readonly LintFinding[], off: readonly LintRule[]): LintFinding[] {
  const on = findings.filter(({ rule }) => !off.includes(rule));
  const place = ({ severity, rule }: LintFinding) =>
    SERIOUS.indexOf(severity) * LINT_RULE_NAMES.length + LINT_RULE_NAMES.indexOf(rule);
  return on.toSorted((a, b) => place(a) - place(b));
}
