import type { Json } from '#core/lib/sql/result.ts';
import { type Limits, TEMPLATE_LIMITS } from './budget.ts';
import { renderTemplate, type Template } from './evaluate.ts';
import { parseIntegers } from '#core/lib/exact-json.ts';
import { isDeeper } from '#core/lib/nesting.ts';

/** The result of a transform template. */
export type Transformed = { readonly kind: 'json'; readonly value: Json } | { readonly kind: 'text'; readonly text: string };

/** The variables of a transform template. */
export interface TransformInput {
  readonly rows: readonly Readonly<Record<string, Json>>[];
  readonly params: Readonly<Record<string, unknown>>;
  readonly vars: Readonly<Record<string, unknown>>;
  /** Absent when there is no known caller. */
  readonly caller?: Readonly<Record<string, unknown>>;
}

/** Renders a template. The output is JSON if it can be parsed, otherwise text. Throws like `renderTemplate`. */
export function applyTransform(
  template: Template,
  { rows, params, vars, caller }: TransformInput,
  limits: Limits = TEMPLATE_LIMITS,
): Transformed {
  return toTransformed(renderTemplate(template, { rows, params, vars, caller }, limits));
}

const MAX_JSON_DEPTH = 64;

function toTransformed(text: string): Transformed {
  const as_text: Transformed = { kind: 'text', text };
  if (!/^\s*[-[{"\dtfn]/.test(text)) return as_text;
  try {
    const value = parseIntegers(text) as Json;
    return isDeeper(value, MAX_JSON_DEPTH) ? as_text : { kind: 'json', value };
  } catch {
    return as_text;
  }
}
