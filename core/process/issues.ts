import type * as v from 'valibot';
import { AppError, type FieldError, didYouMean } from '#core/errors.ts';
import { hiddenIn, hiddenInName } from '#core/lib/text/hidden-characters.ts';

type Issue = v.BaseIssue<unknown>;

/** Names that every object inherits. As field names they would pass a schema unnoticed. */
export const isReservedName = (name: string): boolean => name === 'prototype' || name in Object.prototype;

/**
 * Whether all databases and drivers store a string unchanged: PostgreSQL refuses NUL, and a lone surrogate has no UTF-8 encoding.
 */
export const isPlainText = (text: string): boolean => text.isWellFormed() && !text.includes('\0');

/** Refuses strings, at any depth, that JSON can contain but that would not be returned unchanged. */
export function refuseUnkeepable(input: Readonly<Record<string, unknown>>): void {
  const errors: FieldError[] = [];
  const path: string[] = [];
  let more = 0;
  const refuse = (sentence: string): void => {
    const field = path.join('.');
    if (errors.length === MOST_ERRORS) more += 1;
    else errors.push({ field, message: `${field === '' ? 'The request' : field} ${sentence}.` });
  };
  const visit = (value: unknown): void => {
    if (typeof value === 'string' && !isPlainText(value)) refuse(NOT_PLAIN);
    if (typeof value === 'number' && !Number.isFinite(value)) refuse('contains a number that is too large');
    if (typeof value !== 'object' || value === null) return;
    for (const [name, item] of Object.entries(value)) {
      if (!isPlainText(name)) {
        refuse(`${NOT_PLAIN} in a name`);
        continue;
      }
      path.push(name);
      visit(item);
      path.pop();
    }
  };
  visit(input);
  if (errors.length > 0) throw refused(errors, more);
}

/** Fields that identify people, groups, definitions, files, credentials and webhooks. */
const NAMES: ReadonlySet<string> = new Set(['name', 'username', 'display_name', 'server_name', 'label', 'groups', 'tags']);
/** Names of the fields with text that people review. */
const REVIEWED: ReadonlySet<string> = new Set([
  'title',
  'description',
  'note',
  'text',
  'comment',
  'reason',
  'sql_query',
  'transform_template',
  'template',
  'instructions',
  'skill',
]);
/** Fields with user-defined values of any content. */
const VALUES: ReadonlySet<string> = new Set([
  'arguments',
  'params',
  'expect',
  'caller',
  'claims',
  'extra_params',
  'sample',
  'values',
]);

/** Refuses hidden characters, which make reviewers see a different text than a database or a model reads. */
export function refuseHidden(input: Readonly<Record<string, unknown>>): void {
  const errors: FieldError[] = [];
  const visit = (value: unknown, field: string, path: string): void => {
    if (errors.length === MOST_ERRORS) return;
    if (typeof value === 'string') {
      const fault = NAMES.has(field) ? hiddenInName(value) : REVIEWED.has(field) ? hiddenIn(value) : null;
      if (fault !== null) errors.push({ field: path, message: `${path} ${fault}.` });
    } else if (Array.isArray(value)) for (const [n, item] of value.entries()) visit(item, field, `${path}.${n}`);
    else if (typeof value === 'object' && value !== null && !VALUES.has(field)) {
      for (const [name, item] of Object.entries(value)) visit(item, name, path === '' ? name : `${path}.${name}`);
    }
  };
  visit(input, '', '');
  if (errors.length > 0) throw refused(errors, 0);
}

const NOT_PLAIN = 'contains a NUL character or half a character';

const TYPES: Readonly<Record<string, string>> = {
  string: 'must be a string',
  number: 'must be a number',
  boolean: 'must be true or false',
  array: 'must be a list',
  record: 'must be an object',
  object: 'must be an object',
  strict_object: 'must be an object',
  integer: 'must be a whole number',
};

const RULES: Readonly<Record<string, (requirement: unknown) => string>> = {
  min_length: (least) => (least === 1 ? 'must not be empty' : `must have at least ${String(least)} characters`),
  max_length: (most) => `must have at most ${String(most)} characters`,
  min_value: (least) => `must be at least ${String(least)}`,
  max_value: (most) => `must be at most ${String(most)}`,
  integer: () => 'must be a whole number',
};

/** Turns schema issues into an error with sentences for people, without values. @param known the allowed top-level names. */
export function toInvalid(issues: readonly Issue[], known: readonly string[]): AppError {
  const errors = issues.slice(0, MOST_ERRORS).map((issue) => toFieldError(issue, known));
  return refused(errors, issues.length - errors.length);
}

/** Maximum reported faults: even a small body can have a hundred thousand. */
const MOST_ERRORS = 50;

function refused(errors: readonly FieldError[], more: number): AppError {
  const rest = more > 0 ? [`And ${more} more errors.`] : [];
  return new AppError('invalid', [...errors.map(({ message }) => message), ...rest].join(' '), { errors });
}

function toFieldError(issue: Issue, known: readonly string[]): FieldError {
  const path = (issue.path ?? []).map((item) => String(item.key));
  const field = path.join('.');
  const text = sentence(issue, path, known);
  return { field, message: `${field === '' ? 'The request' : field} ${text}${/[.?]$/.test(text) ? '' : '.'}` };
}

function sentence(issue: Issue, path: readonly string[], known: readonly string[]): string {
  if (issue.expected === 'never') {
    const name = path.at(-1) ?? '';
    return `is not a known field.${path.length === 1 ? didYouMean(name, known) : ''}`;
  }
  if (issue.received === 'undefined') return 'is required';
  if (issue.kind === 'validation' && issue.input === '') return 'must not be empty';
  if (issue.type === 'picklist') return `must be one of ${issue.expected?.replaceAll(/[()"]/g, '').replaceAll(' | ', ', ')}`;
  // A custom message; those of valibot start with "Invalid".
  if (!issue.message.startsWith('Invalid ')) return issue.message;
  if (issue.type === 'regex') return 'has an invalid format';
  if (issue.received === 'null') return 'must not be null';
  const size = issue.type.endsWith('_length') && Array.isArray(issue.input);
  const rule = RULES[issue.type]?.(issue.requirement);
  if (rule !== undefined) return size ? rule.replace('characters', 'entries') : rule;
  return TYPES[issue.type] ?? 'is not valid';
}
