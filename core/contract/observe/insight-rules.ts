export const SEVERITY_CHOICES = {
  error: { label: 'Act now' },
  warning: { label: 'Improve' },
  info: { label: 'Good to know' },
};

/** All insight rules with their texts. No schema here, because the UI loads this file. */
export const INSIGHT_RULES = {
  'statement-fails': {
    severity: 'error',
    label: 'Statement fails',
    help: 'The database refuses a statement again and again with the same sentence, such as an unknown column.',
  },
  'short-queue': {
    severity: 'error',
    label: 'Queue too short',
    help: 'Calls of a connection are rejected without a slot, or wait long for one.',
  },
  'argument-fails': {
    severity: 'warning',
    label: 'Argument often wrong',
    help: 'Callers send an argument that is refused for the same reason again and again.',
  },
  'retry-loop': {
    severity: 'warning',
    label: 'Retry loop',
    help: 'A caller repeats the same failing call without a change.',
  },
  'slow-statement': {
    severity: 'warning',
    label: 'Slow statement',
    help: 'The 95th percentile of the time in the database is a second or longer, half of the timeout, or calls time out.',
  },
  'truncated-results': {
    severity: 'warning',
    label: 'Results cut off',
    help: 'Nearly every result reaches the row, size or token limit of its tool.',
  },
  'confused-tools': {
    severity: 'warning',
    label: 'Tools confused',
    help: 'Callers get an error or nothing from one tool and at once succeed with another one.',
  },
  'revoked-token': {
    severity: 'warning',
    label: 'Revoked token still used',
    help: 'A client still sends an access token that was revoked or has expired. Only administrators see which client.',
  },
  'cancelled-calls': {
    severity: 'warning',
    label: 'Calls cancelled',
    help: 'Callers or administrators cancel many calls of a tool.',
  },
  'unused-tool': {
    severity: 'info',
    label: 'Tool never called',
    help: 'A tool was not called once while others were. Each tool costs tokens in every list and makes the choice harder.',
  },
} as const satisfies Readonly<
  Record<string, { readonly severity: keyof typeof SEVERITY_CHOICES; readonly label: string; readonly help: string }>
>;

export type InsightRuleName = keyof typeof INSIGHT_RULES;
export const INSIGHT_RULE_NAMES = Object.keys(INSIGHT_RULES) as readonly InsightRuleName[];

export const INSIGHT_PERIODS = ['24h', '7d', '30d'] as const;
export type InsightPeriod = (typeof INSIGHT_PERIODS)[number];
export const INSIGHT_PERIOD_CHOICES: Readonly<Record<InsightPeriod, { readonly label: string }>> = {
  '24h': { label: '24 hours' },
  '7d': { label: '7 days' },
  '30d': { label: '30 days' },
};
