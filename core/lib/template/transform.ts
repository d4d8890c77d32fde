import type { Json } from '#core/lib/sql/result.ts';
import { type Limits, TEMPLATE_LIMITS } from './budget.ts';
import { renderTemplate, type Template } from './evaluate.ts';
import { parseIntegers } from '#core/lib/exact-json.ts';
import { isDeeper } from '#core/lib/nesting.ts';

/** What a transform template made of the rows. */
export type Transformed = { readonly kind: 'json'; readonly value: Json } | { readonly kind: 'text'; readonly text: string };

/** What a transform template sees. */
export interface TransformInput {
  readonly rows: readonly Readonly<Record<string, Json>>[];
  readonly params: Readonly<Record<string, unknown>>;
  readonly vars: Readonly<Record<string, unknown>>;
  /** Absent where nobody is known to call. */
  readonly caller?: Readonly<Record<string, unknown>>;
}

/** The output of the template as JSON when it is JSON, else as text. Throws as `renderTemplate` does. */
export function applyTransform(
  template: Template,
  { rows, params, vars, caller }: TransformInput,
  limits: Limits = TEMPLATE_LIMITS,
): Transformed {
  return toTransformed(renderTemplate(template, { rows, params, vars, caller }, limits));
}

const MAX_JSON_DEPTH = 64;

function toTransformed(text: string): Transformed {
  const kept: Transformed = { kind: 'text', text };
  if (!/^\s*[-[{"\dtfn]/.test(text)) return kept;
  try {
    const value = parseIntegers(text) as Json;
    return isDeeper(value, MAX_JSON_DEPTH) ? kept : { kind: 'json', value };
  } catch {
    return kept;
  }
}
