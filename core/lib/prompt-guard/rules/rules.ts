import type { Family, PatternRule, Rule, RuleDraft } from '../types.ts';
import { delimiter, encoded, fakeTurn, hiddenMarkup, invisible } from './markers.ts';
import { dataExfiltration, override, poisoning, secrets } from './orders.ts';

/** The rule of the model. Its severity is that of the finding, which depends on the score. */
export const MODEL_RULE = 'model.injection';

const model: Family = {
  family: 'model',
  reported: [
    {
      id: MODEL_RULE,
      severity: 'medium',
      kinds: ['text', 'sql', 'template'],
      description: 'The model takes a sentence for an instruction to a model. The finding names the words that weighed most.',
    },
  ],
};

export const FAMILIES: readonly Family[] = [
  model,
  override,
  secrets,
  poisoning,
  dataExfiltration,
  fakeTurn,
  delimiter,
  hiddenMarkup,
  encoded,
  invisible,
];

const TEXT_AND_SQL = ['text', 'sql'] as const;

const collect = (family: string, { id, severity, description, kinds = TEXT_AND_SQL }: RuleDraft): [string, Rule] => [
  id,
  { id, family, severity, kinds, description },
];

export const RULES: ReadonlyMap<string, Rule> = new Map(
  FAMILIES.flatMap(({ family, patterns = [], reported = [] }) =>
    [...patterns, ...reported].map((draft) => collect(family, draft)),
  ),
);

export const PATTERNS: readonly PatternRule[] = FAMILIES.flatMap(({ patterns = [] }) => patterns);
