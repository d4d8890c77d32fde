import * as v from 'valibot';
import type { Choice } from '../marks.ts';

export const LintSeverity = v.picklist(['error', 'warning', 'info']);
export type LintSeverity = v.InferOutput<typeof LintSeverity>;

interface Rule extends Choice {
  readonly severity: LintSeverity;
  readonly help: string;
}

/** All lint rules with their texts. */
export const LINT_RULES = {
  'description-missing': {
    severity: 'warning',
    label: 'Description missing',
    help: 'The description is blank or only repeats the name. A model chooses tools by their descriptions.',
  },
  'description-short': {
    severity: 'info',
    label: 'Description too short',
    help: 'The description has fewer than 20 characters. Say what it returns and when to use it.',
  },
  'description-similar': {
    severity: 'warning',
    label: 'Descriptions too similar',
    help: 'The description is at least 80% the same as that of another definition, so a model cannot tell them apart.',
  },
  'similar-names': {
    severity: 'warning',
    label: 'Names too similar',
    help: 'Tool names differ only in plural, order of words, case or a suffix such as _copy.',
  },
  'parameter-description': {
    severity: 'warning',
    label: 'Parameter without description',
    help: 'A model guesses what to send for a parameter that is not described.',
  },
  'parameter-examples': {
    severity: 'info',
    label: 'Parameter without examples',
    help: 'Examples show the form of a value. Parameters with allowed values and those of a fixed form need none.',
  },
  'select-star': {
    severity: 'warning',
    label: 'SELECT *',
    help: 'The result changes whenever the table does, and new columns reach models unseen.',
  },
  'unbounded-rows': {
    severity: 'info',
    label: 'No limit and no order',
    help: 'Without LIMIT and ORDER BY, a result that reaches the row limit holds arbitrary rows.',
  },
  'optional-equals': {
    severity: 'warning',
    label: 'Optional value compared with =',
    help: 'Outside an optional block, a parameter that is not given is NULL, and = NULL matches no row.',
  },
  'order-by-value': {
    severity: 'warning',
    label: 'ORDER BY a parameter',
    help: 'A parameter is a value, which is the same in every row, so it sorts nothing. Allow names of columns with enum, and choose the column with CASE.',
  },
  'write-unconfirmed': {
    severity: 'info',
    label: 'Writes without confirmation',
    help: 'The tool changes data without confirmation, so a model alone decides. With confirmation, a person approves each change.',
  },
  'secret-text': {
    severity: 'error',
    label: 'Text looks like a secret',
    help: 'Keys, tokens and passwords in definitions reach every client, export and history entry.',
  },
  'toolset-tokens': {
    severity: 'warning',
    label: 'Toolset too large',
    help: 'The lists of one toolset take more tokens of every conversation than its budget.',
  },
} as const satisfies Readonly<Record<string, Rule>>;

export type LintRule = keyof typeof LINT_RULES;
export const LINT_RULE_NAMES = Object.keys(LINT_RULES) as readonly LintRule[];
export const LintRule = v.picklist(LINT_RULE_NAMES);
