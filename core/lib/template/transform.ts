import type { Json } from '#core/engines/shared/source.ts';
import type { Transformed } from '../call/shape.ts';
import { parseIntegers } from '../exact-json.ts';
import { isDeeper } from '../nesting.ts';
import { type Limits, TEMPLATE_LIMITS } from './budget.ts';
import { renderTemplate, type Template } from './evaluate.ts';

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
