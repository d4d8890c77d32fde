import { isSent } from '#core/query/arguments.ts';
import type { RuleFinding, Subject } from './subject.ts';

/** A shorter description hardly adds to the name. An ideograph counts as two characters. */
const MIN_DESCRIPTION = 20;
const IDEOGRAPHS = /[\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff\uac00-\ud7af]/g;

const lettersOf = (text: string): string => text.toLowerCase().replace(/[^\p{L}\p{N}]+/gu, '');

/** Findings in the description. */
export function descriptionRule({ kind, name, title, description }: Subject): RuleFinding[] {
  // Models do not read the description of a toolset.
  if (kind === 'toolset') return [];
  const text = description.trim();
  const letters = lettersOf(text);
  if (letters === '' || letters === lettersOf(name) || letters === lettersOf(title ?? '')) {
    const message = text === '' ? 'The description is blank.' : 'The description only repeats the name.';
    return [{ rule: 'description-missing', field: 'description', message: `${message} Say what it returns and when to use it.` }];
  }
  const length = text.length + (text.match(IDEOGRAPHS)?.length ?? 0);
  if (length >= MIN_DESCRIPTION) return [];
  const message = `The description has ${text.length} characters. Say what it returns and when to use it.`;
  return [{ rule: 'description-short', field: 'description', message }];
}

/** Types whose format follows from the schema. */
const FORMATTED = new Set(['boolean', 'date', 'datetime', 'uuid', 'bytes']);

/** Parameters and arguments about which a model cannot know what to send. */
export function parameterRules({ query, arguments: given }: Subject): RuleFinding[] {
  const found: RuleFinding[] = given.flatMap(({ name, description }, n) =>
    description.trim() === '' ? [undescribed(`arguments.${n}.description`, `The argument ${name}`)] : [],
  );
  const parameters = query?.parameters ?? [];
  for (const [n, parameter] of parameters.entries()) {
    if (!isSent(parameter)) continue;
    const { name, type, items, description, examples = [], default: fallback = null } = parameter;
    if (description.trim() === '') found.push(undescribed(`parameters.${n}.description`, `The parameter ${name}`));
    const needs_none = parameter.enum !== undefined || FORMATTED.has(type === 'array' ? (items ?? '') : type);
    if (needs_none || examples.length > 0) continue;
    const message = `The parameter ${name} has no examples. One or two show a model the form of the value.`;
    const changes = { parameters: parameters.map((one) => (one === parameter ? { ...one, examples: [fallback] } : one)) };
    // An empty value does not show the format.
    const shows_nothing = fallback === null || fallback === '' || (Array.isArray(fallback) && fallback.length === 0);
    const fix = shows_nothing ? {} : { fix: { label: 'Use the default as an example', changes } };
    found.push({ rule: 'parameter-examples', field: `parameters.${n}.examples`, message, ...fix });
  }
  return found;
}

const undescribed = (field: string, what: string): RuleFinding => ({
  rule: 'parameter-description',
  field,
  message: `${what} has no description. Say what it means, with units and where a value comes from.`,
});

/** Patterns of secrets. Each takes linear time. */
const SECRETS: readonly (readonly [what: string, form: RegExp])[] = [
  ['a private key', /-----BEGIN (?:[A-Z]{1,20} ){0,3}PRIVATE KEY-----/],
  ['an AWS access key', /\b(?:AKIA|ASIA)[A-Z0-9]{16}\b/],
  ['a GitHub token', /\b(?:gh[pousr]_[A-Za-z0-9]{36}|github_pat_[A-Za-z0-9_]{50})/],
  ['an API key', /\b(?:sk-(?:ant-|proj-|live-)?[A-Za-z0-9_-]{20}|[sr]k_(?:live|test)_[A-Za-z0-9]{16}|AIza[A-Za-z0-9_-]{35})/],
  ['a Slack token', /\bxox[abposr]-[A-Za-z0-9-]{10}/],
  ['a signed token', /\beyJ[A-Za-z0-9_-]{10,2000}\.eyJ[A-Za-z0-9_-]{10}/],
  ['a token of Sluice', /\bsvc_(?:mcp_)?[A-Za-z0-9]{40}\b/],
  ['an address with a password', /\b[a-z][a-z0-9+]{1,20}:\/\/[^\s:@/]{1,100}:[^\s:@/]{3,100}@/i],
  [
    'a password',
    /(?:password|passwd|pwd|secret|api[_-]?key|access[_-]?token)['"]?\s{0,3}(?:=|:(?!:)|\bis\b)\s{0,3}['"]?(?=[^\s'":,;()]{0,100}\d)[^\s'":,;()]{8}/i,
  ],
];

/** Secrets in texts that every client, export and history entry shows. */
export function secretRule({ title, description, query, arguments: given, texts }: Subject): RuleFinding[] {
  const parameters = (query?.parameters ?? []).map(
    (parameter, n) => [`parameters.${n}`, JSON.stringify(Object.values(parameter))] as const,
  );
  const read: readonly (readonly [field: string, text: string])[] = [
    ['title', title ?? ''],
    ['description', description],
    ['sql_query', query?.sql ?? ''],
    ...parameters,
    ...given.map(({ description: text }, n) => [`arguments.${n}.description`, text] as const),
    ...Object.entries(texts),
  ];
  return read.flatMap(([field, text]) => {
    const what = SECRETS.find(([, form]) => form.test(text))?.[0];
    if (what === undefined) return [];
    const message = `This text looks like ${what}. Remove it, and replace it wherever it is used: anyone who can read definitions has seen it.`;
    return [{ rule: 'secret-text', field, message }];
  });
}
