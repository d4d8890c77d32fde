import * as v from 'valibot';
import { listInput, listOf } from './fields.ts';
import { LintRule, LintSeverity } from './settings/lint-rules.ts';
import { operation } from './operation.ts';

/** Repeats kinds from `entities.ts`, which imports this file. */
const LINTED = ['tool', 'resource', 'prompt', 'toolset'] as const;

export const LintFinding = v.object({
  rule: LintRule,
  severity: LintSeverity,
  entity: v.object({ kind: v.picklist(LINTED), id: v.string(), name: v.string() }),
  field: v.pipe(v.nullable(v.string()), v.description('Such as `description` or `parameters.0.examples`; null: the whole')),
  message: v.string(),
  fix: v.optional(
    v.pipe(
      v.object({ label: v.string(), changes: v.record(v.string(), v.unknown()) }),
      v.description('`changes` is the body of a PATCH of the definition'),
    ),
  ),
});
export type LintFinding = v.InferOutput<typeof LintFinding>;

export const Findings = v.optional(v.pipe(v.array(LintFinding), v.description('What lint finds in it')));

const OWNER = new RegExp(`^(?:${LINTED.join('|')}):[^\\s:]{1,64}$`);
const Owner = v.pipe(
  v.string(),
  v.regex(OWNER, `must be ${LINTED.join(', ')} and an id, such as tool:0199…`),
  v.description('One definition, such as `tool:<id>`, also while it is disabled. Its findings come with every fix'),
);

export const lint = {
  'lint.list': operation('GET /lint', 'read', {
    input: v.strictObject({
      ...listInput(500),
      owner: v.optional(Owner),
      rule: v.optional(LintRule),
      severity: v.optional(LintSeverity),
    }),
    output: listOf(LintFinding),
    summary: 'List what could mislead a model in the working copy, the most serious first',
  }),
  'lint.rules': operation('GET /lint/rules', 'read', {
    input: v.strictObject({}),
    output: listOf(
      v.object({
        rule: LintRule,
        severity: LintSeverity,
        label: v.string(),
        help: v.string(),
        enabled: v.pipe(v.boolean(), v.description('`lint_off` does not have it')),
      }),
    ),
    summary: 'List the lint rules',
  }),
};
