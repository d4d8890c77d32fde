import * as v from 'valibot';
import { SERVED } from './entities.ts';
import { Empty, listOf, LONGEST_STATEMENT, textBetween } from './fields.ts';
import { operation } from './operation.ts';

const Severity = v.picklist(['low', 'medium', 'high']);
const TextKind = v.picklist(['text', 'sql', 'template']);

export const GuardRule = v.object({
  id: v.string(),
  family: v.string(),
  severity: Severity,
  kinds: v.array(TextKind),
  description: v.string(),
});

export const GuardFinding = v.object({
  rule: v.string(),
  severity: Severity,
  field: v.string(),
  blocked: v.boolean(),
  words: v.pipe(v.array(v.string()), v.description('The words of the text that weighed most, of findings of the model')),
  allow: v.pipe(v.string(), v.description('The entry of prompt_guard_allow that skips this finding')),
});
export type GuardFinding = v.InferOutput<typeof GuardFinding>;

export const guard = {
  'guard.rules': operation('GET /prompt-guard/rules', 'session', {
    role: 'viewer',
    input: Empty,
    output: listOf(GuardRule),
    summary: 'List the rules of the prompt guard',
  }),
  'guard.test': operation('POST /prompt-guard/test', 'session', {
    role: 'editor',
    input: v.strictObject({ text: textBetween(1, LONGEST_STATEMENT), kind: v.optional(TextKind, 'text') }),
    output: v.object({ blocked: v.boolean(), findings: v.array(GuardFinding) }),
    summary: 'Check a text as if it were part of a definition; nothing is stored',
  }),
  'guard.scan': operation('POST /prompt-guard/scan', 'session', {
    role: 'editor',
    input: Empty,
    output: v.object({
      scanned: v.number(),
      items: v.array(
        v.object({
          entity_type: v.picklist(SERVED),
          id: v.string(),
          name: v.string(),
          findings: v.array(GuardFinding),
        }),
      ),
    }),
    summary: 'Check everything that is stored',
  }),
};
