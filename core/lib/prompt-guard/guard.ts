import { createHash } from 'node:crypto';
import { decode, looksLikeRot13, reversed, rot13 } from './decode.ts';
import { classify, explain, type Model } from './model.ts';
import { normalise, partNames, skeleton, type Spaced, unleet, unspace } from './normalise.ts';
import { MODEL_RULE, PATTERNS, RULES } from './rules/rules.ts';
import { guardModel } from './shipped-model.ts';
import { languageOf } from './sql-text.ts';
import type { GuardTextKind, Rule, Severity } from './types.ts';

export interface GuardField {
  /** Dotted path such as `parameters.0.description`. */
  readonly field: string;
  readonly text: string;
  readonly kind: GuardTextKind;
}

/** A finding and its location, without the text itself. */
export interface Finding {
  readonly rule: string;
  readonly severity: Severity;
  readonly field: string;
  /** The words that weighed most, in their order: of the model alone. They are part of the text, so only its author may see them. */
  readonly words: readonly string[];
  /** The entry of `GuardOptions.allow` that skips this finding. */
  readonly allow: string;
}

export interface GuardContext {
  /** Names of all tools. The model reads each of them as the name of a tool, whatever its words. */
  readonly tool_names?: readonly string[];
  /** The name of the scanned definition, which may be in that list. */
  readonly own?: string | null;
}

export interface GuardOptions {
  /** The lowest severity that blocks: `medium` blocks medium and high. */
  readonly threshold?: Severity;
  /** Ids of disabled rules, and texts that the model skips (`textKey`). */
  readonly allow?: readonly string[];
}

export interface Guard {
  /** Findings of every severity, one per rule and field. `steps` counts the work, for tests. */
  scan(fields: readonly GuardField[], context?: GuardContext, steps?: { count: number }): Finding[];
  /** The findings that the threshold blocks. */
  blocked(findings: readonly Finding[]): Finding[];
}

/** What the readings of one text give. */
interface Found {
  /** Ids of structural rules. */
  readonly rules: Set<string>;
  /** The reading that the model takes most for an instruction. */
  worst: { readonly score: number; readonly reading: string };
  readonly steps: { count: number };
}

const RANK: Readonly<Record<Severity, number>> = { low: 0, medium: 1, high: 2 };
/** Maximum depth of encodings within encodings. */
const DEEPEST = 3;
/**
 * Log-odds from which on a finding has each severity: 2 %, 0.5 % (SQL and templates: 1 %) and 0.1 % false alarms
 * (`test/core/lib/prompt-guard/training/calibrate.ts`).
 */
const SCORES: Readonly<Record<GuardTextKind, Readonly<Record<Severity, number>>>> = {
  text: { low: 1.95, medium: 3.1, high: 4.25 },
  sql: { low: 0.75, medium: 1.6, high: 2.05 },
  template: { low: 4.35, medium: 5.35, high: 7.2 },
};

/** Every rule with its id, family, severity and sentence. */
export const listRules = (): Rule[] => [...RULES.values()];

const TEXT_KEY = /^text:[0-9a-f]{32}$/;

/** Names one text in `GuardOptions.allow`, without repeating it. */
export const textKey = (text: string): string => `text:${createHash('sha256').update(text).digest('hex').slice(0, 32)}`;

/** Whether `allow` may contain this: a rule other than the model, or the key of a text. */
export const isAllowance = (entry: string): boolean => TEXT_KEY.test(entry) || (entry !== MODEL_RULE && RULES.has(entry));

/** A heuristic scanner of definitions. It is stateless and can be reused. */
export function createGuard({ threshold = 'medium', allow = [] }: GuardOptions = {}): Guard {
  const model = guardModel();
  const allowed = new Set(allow);
  // An import scans thousands of definitions with the same list of names.
  const plain_names = new WeakMap<readonly string[], ReadonlySet<string>>();

  function findingsOf({ field, text, kind }: GuardField, names: Names, steps: { count: number }): Finding[] {
    const { rules, worst } = readText(model, text, kind, names, steps);
    const findings = Array.from(rules, (id) => RULES.get(id))
      .filter((rule) => rule !== undefined && rule.kinds.includes(kind) && !allowed.has(rule.id))
      .flatMap((rule) =>
        rule === undefined ? [] : [{ rule: rule.id, severity: rule.severity, field, words: [], allow: rule.id }],
      );
    const severity = severityOf(worst.score, kind);
    const key = severity === null ? '' : textKey(text);
    if (severity === null || allowed.has(key)) return findings;
    return [...findings, { rule: MODEL_RULE, severity, field, words: explain(model, worst.reading), allow: key }];
  }

  return {
    scan(fields, { tool_names = [], own = null } = {}, steps = { count: 0 }) {
      const known = plain_names.get(tool_names) ?? plainNames(tool_names);
      plain_names.set(tool_names, known);
      const itself = own?.toLowerCase();
      const names: Names = { size: known.size, has: (word) => word !== itself && known.has(word) };
      return fields.flatMap((field) =>
        findingsOf(field, names, steps).sort(
          (one, other) => RANK[other.severity] - RANK[one.severity] || one.rule.localeCompare(other.rule),
        ),
      );
    },
    blocked: (findings) => findings.filter(({ severity }) => RANK[severity] >= RANK[threshold]),
  };
}

/** The highest score of a text in all its readings: what the thresholds are chosen from. */
export const scoreOf = (model: Model, text: string, kind: GuardTextKind): number =>
  readText(model, text, kind, NO_NAMES, { count: 0 }).worst.score;

function readText(model: Model, text: string, kind: GuardTextKind, names: Names, steps: { count: number }): Found {
  const found: Found = { rules: new Set(), worst: NOTHING, steps };
  if (kind === 'sql') for (const id of normalise(text).hidden) found.rules.add(id);
  for (const part of partsOf(text, kind)) read(model, part, kind, names, found);
  return found;
}

/**
 * Reads a text as written, with look-alikes and digits as letters, with spaced letters joined and names parted, and decoded. A
 * decoded text that would be a finding was hidden on purpose.
 */
function read(model: Model, text: string, kind: GuardTextKind, names: Names, found: Found, depth = 0): void {
  const { visible, folded, smuggled, hidden } = normalise(text);
  // An escaped control character hides nothing: statements search for such characters.
  for (const id of hidden) if (depth === 0 || id !== 'invisible.control_characters') found.rules.add(id);
  const spaced = unspace(folded);
  if (spaced?.solid === true) found.rules.add('encoded.spaced_letters');
  for (const reading of readingsOf(visible, folded, spaced)) {
    scoreReading(model, markNames(reading, names), found);
    matchPatterns(reading, found);
  }
  if (depth >= DEEPEST) return;
  const inner: Found = { rules: new Set(), worst: NOTHING, steps: found.steps };
  const turned = looksLikeRot13(folded) ? [rot13(folded)] : [];
  if (hidden.has('invisible.bidi_override')) turned.push(reversed(folded));
  for (const reading of turned) {
    scoreReading(model, reading, inner);
    matchPatterns(reading, inner);
  }
  for (const decoded of decode(visible)) read(model, decoded.text, kind, names, inner, depth + 1);
  if (smuggled !== '') read(model, smuggled, kind, names, inner, depth + 1);
  const severity = severityOf(inner.worst.score, kind);
  const is_hit = (id: string) => !found.rules.has(id) && RULES.get(id)?.severity !== 'low';
  if ((severity !== null && severity !== 'low') || [...inner.rules].some(is_hit)) found.rules.add('encoded.instructions');
  for (const id of inner.rules) found.rules.add(id);
  if (inner.worst.score > found.worst.score) found.worst = inner.worst;
}

const NOTHING = { score: -Infinity, reading: '' };

/** One or two words, such as the name of a table, are no instruction, whatever the model says of them. */
const isTooShort = (reading: string): boolean =>
  reading.length < 24 && !/[^\s]\s+[^\s]+\s+[^\s]|[\u0e00-\u0e7f\u3040-\u9fff]/u.test(reading);

function scoreReading(model: Model, reading: string, found: Found): void {
  if (isTooShort(reading)) return;
  const score = classify(model, reading, found.steps);
  if (score > found.worst.score) found.worst = { score, reading };
}

function matchPatterns(folded: string, { rules, steps }: Found): void {
  for (const { id, needs, pattern } of PATTERNS) {
    steps.count += 1;
    if (!rules.has(id) && needs.some((need) => folded.includes(need)) && pattern.test(folded)) rules.add(id);
  }
}

function severityOf(score: number, kind: GuardTextKind): Severity | null {
  const { low, medium, high } = SCORES[kind];
  if (score < low) return null;
  if (score < medium) return 'low';
  return score < high ? 'medium' : 'high';
}

/** In a template, quoted words after "says" or "such as" are an example of an attack, not an instruction. */
const QUOTED_EXAMPLE =
  /\b(?:says?|said|saying|like|such as|e\.g\.|asks?|reads|contains?|phrases?|words)(?: something)?[ :]{1,3}(?:"[^"\n]{1,120}"|“[^”\n]{1,120}”|'[^'\n]{1,120}'|«[^»\n]{1,120}»)/giu;

function partsOf(text: string, kind: GuardTextKind): string[] {
  if (kind === 'sql') return languageOf(text);
  return [kind === 'template' ? text.replace(QUOTED_EXAMPLE, '') : text];
}

function readingsOf(visible: string, folded: string, spaced: Spaced | undefined): Set<string> {
  const latin = skeleton(folded);
  const parted = partNames(visible)?.toLowerCase();
  const spellings = [folded, latin, spaced?.joined, parted].filter((reading) => reading !== undefined);
  const joined = latin === undefined ? undefined : unspace(latin)?.joined;
  return new Set([...spellings, ...(joined === undefined ? [] : [joined]), ...spellings.flatMap(unleet)]);
}

/** Names without an underscore. The model recognises others by their form. */
type Names = Pick<ReadonlySet<string>, 'size' | 'has'>;
const NO_NAMES: Names = { size: 0, has: () => false };

function plainNames(tool_names: readonly string[]): ReadonlySet<string> {
  const names = tool_names.map((name) => name.toLowerCase());
  return new Set(names.filter((name) => name.length >= 3 && !name.includes('_') && /^[\w-]+$/.test(name)));
}

const markNames = (folded: string, names: Names): string =>
  names.size === 0 ? folded : folded.replace(/[\w-]{3,}/g, (word) => (names.has(word) ? 'known_tool' : word));
