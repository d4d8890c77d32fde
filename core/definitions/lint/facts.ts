import { statementRules } from './statements.ts';
import { type RuleFinding, type Subject, ofFrozen } from './subject.ts';
import { descriptionRule, parameterRules, secretRule } from './texts.ts';
import type { LintFinding } from '#core/contract/lint.ts';
import { type Grams, gramsOf } from './likeness.ts';
import { type Holds, type Selectable, ofPrompt, ofResource, ofTool, holdsOf } from '#snapshots/format/toolsets.ts';
import { DEFAULT_TOKEN_BUDGET } from '#core/contract/definitions/toolsets.ts';
import type { Terms } from '#core/lib/search/ranking.ts';
import { termsOfTool } from '#core/lib/search/tool-terms.ts';
import { beginning } from '#core/lib/text/shorten.ts';
import { isSent } from '#core/query/arguments.ts';
import type { DefinitionKind } from '#core/contract/entities.ts';
import type { FrozenPrompt, FrozenResource, FrozenTool, FrozenToolset } from '#snapshots/format/format.ts';
import { estimateTokens } from '#core/lib/tokens.ts';
import { LINT_RULES } from '#core/contract/settings/lint-rules.ts';

const SUFFIX = /[_-]?(?:copy(?:[_-]?\d+)?|new|old|v\d+)$/i;

/** The rules that need only one definition. */
const SINGLE_RULES: readonly ((subject: Subject) => RuleFinding[])[] = [
  descriptionRule,
  parameterRules,
  statementRules,
  secretRule,
];

/** The data with which the rules compare a definition with others, and the findings of `SINGLE_RULES`. */
export interface Compared {
  readonly entity: LintFinding['entity'];
  readonly name: string;
  /** JSON of `RuleFinding[]`, which takes less memory: there are facts of thousands of definitions. */
  readonly findings: string;
  readonly grams: Grams;
  readonly stem: string;
}

export interface Facts extends Compared {
  /** Tokens of its entry in the list that models read. */
  readonly tokens: number;
  /** Null for a toolset. */
  readonly member: Selectable | null;
  /** Tokens that the lists of a toolset may take. */
  readonly budget: number;
  /** Selects the members of a toolset; null for other kinds. */
  readonly holds: Holds | null;
  /** Texts of a tool that models read, and its search terms; null for other kinds. */
  readonly texts: { readonly title: string | null; readonly description: string; readonly terms: Terms } | null;
}

function textsOf({ name, title, description, query }: Subject): Facts['texts'] {
  const parameters = (query?.parameters ?? []).filter(isSent);
  const terms = termsOfTool(
    name,
    title,
    description,
    parameters.map((one) => `${one.name} ${one.description}`),
  );
  return { title, description: beginning(description, MAX_DESCRIPTION), terms };
}

/** Characters of a description in a list. */
const MAX_DESCRIPTION = 500;

/** @param offers whether a fix may be offered. */
export function comparedOf(subject: Subject, offers: (fix: NonNullable<RuleFinding['fix']>) => boolean = () => true): Compared {
  const { kind, id, name, description } = subject;
  const entity = { kind, id, name };
  const findings = SINGLE_RULES.flatMap((rule) => rule(subject)).map(({ fix, ...found }) => ({
    ...found,
    ...(fix !== undefined && offers(fix) ? { fix } : {}),
  }));
  return {
    entity,
    name,
    findings: JSON.stringify(findings),
    grams: gramsOf(kind === 'toolset' ? '' : description),
    stem: stemOf(name),
  };
}

const MEMBERS = {
  tool: (frozen: object) => ofTool(frozen as FrozenTool),
  resource: (frozen: object) => ofResource(frozen as FrozenResource),
  prompt: (frozen: object) => ofPrompt(frozen as FrozenPrompt),
  toolset: () => null,
} as const satisfies Readonly<Record<DefinitionKind, (frozen: object) => Selectable | null>>;

/** Facts of a frozen definition. Its SQL can differ from what the author wrote, so fixes of a statement are not offered. */
export function factsOf(kind: DefinitionKind, frozen: object): Facts {
  const subject = ofFrozen(kind, frozen);
  const compared = comparedOf(subject, ({ changes }) => !('sql_query' in changes));
  const { listing } = frozen as Partial<FrozenTool>;
  return {
    ...compared,
    tokens: listing === undefined ? 0 : estimateTokens(JSON.stringify(listing)),
    member: MEMBERS[kind](frozen),
    budget: budgetOf(frozen),
    holds: kind === 'toolset' ? holdsOf(frozen as FrozenToolset) : null,
    texts: kind === 'tool' ? textsOf(subject) : null,
  };
}

/** @param toolset stored or frozen. */
export const budgetOf = (toolset: object): number => (toolset as Partial<FrozenToolset>).token_budget ?? DEFAULT_TOKEN_BUDGET;

export const toFinding = (entity: LintFinding['entity'], { rule, field, message, fix }: RuleFinding): LintFinding => ({
  rule,
  severity: LINT_RULES[rule].severity,
  entity,
  field,
  message,
  ...(fix === undefined ? {} : { fix }),
});

/** A name without case, plural, word order and the suffixes of copies. */
export function stemOf(name: string): string {
  const bare = name.replace(SUFFIX, '') || name;
  const words = bare
    .replaceAll(/([a-z\d])([A-Z])/g, '$1_$2')
    .toLowerCase()
    .split(/[_-]+/)
    .filter((word) => word !== '');
  return words.map(singular).toSorted().join('_');
}

function singular(word: string): string {
  if (word.length < 4 || word.endsWith('ss') || word.endsWith('us') || word.endsWith('is')) return word;
  if (word.endsWith('ies')) return `${word.slice(0, -3)}y`;
  return word.endsWith('s') ? word.slice(0, -1) : word;
}
