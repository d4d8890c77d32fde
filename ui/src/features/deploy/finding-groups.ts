import type { GateFinding } from '#core/contract/deploy/deploy.ts';
import { subjectOf } from '#core/contract/entities.ts';
import { DEPLOY_GATES } from '#core/contract/settings/deploy-gates.ts';
import { capital } from '#ui/src/kernel/words.ts';
import { LINT_RULES } from '#core/contract/settings/lint-rules.ts';

export interface FindingGroup {
  readonly title: string;
  readonly findings: readonly GateFinding[];
}

const LINKED = ['tool', 'resource', 'prompt', 'toolset'] as const;
export type LinkedKind = (typeof LINKED)[number];

/** The definition that a finding is of. */
export function definitionOf({
  field,
}: Pick<GateFinding, 'field'>): { readonly kind: LinkedKind; readonly name: string } | undefined {
  const dot = field?.indexOf('.') ?? -1;
  const kind = LINKED.find((one) => one === field?.slice(0, dot));
  return kind === undefined ? undefined : { kind, name: field?.slice(dot + 1) ?? '' };
}

/** What it says, without the definition that stands before it as a link. */
export function sentenceOf(finding: GateFinding): string {
  const of = definitionOf(finding);
  if (of === undefined) return finding.message;
  const subject = `${subjectOf(of.kind, of.name)}: `;
  const at = finding.message.indexOf(subject);
  return at === -1 ? finding.message : capital(finding.message.slice(at + subject.length));
}

const RULES: Readonly<Record<string, { readonly label: string }>> = LINT_RULES;
const GATES: Readonly<Record<string, { readonly label: string }>> = DEPLOY_GATES;

/** Findings by their lint rule or check, in the order in which they were found. */
export const groupFindings = (findings: readonly GateFinding[]): FindingGroup[] =>
  [
    ...Map.groupBy(
      findings,
      ({ gate, rule }) =>
        RULES[rule ?? '']?.label ?? GATES[gate]?.label ?? (gate === '' || gate === 'prepare' ? 'Statements' : 'Other checks'),
    ),
  ].map(([title, members]) => ({ title, findings: members }));
