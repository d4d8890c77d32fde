import { decode, looksLikeRot13, reversed, rot13 } from './decode.ts';
import { normalise, partLongWords, skeleton, unleet, unspace, type Normalised } from './normalise.ts';
import { collectRules, createRuleBook } from './rule-book.ts';
import { languageOf } from './sql-text.ts';
import type { GuardTextKind, Rule, Severity } from './types.ts';
import { toUnits } from './units.ts';

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
}

export interface GuardContext {
  /** Names of all tools. A description that gives instructions about another tool shadows it. */
  readonly tool_names?: readonly string[];
  /** The name of the scanned definition, which may be in that list. */
  readonly own?: string | null;
}

export interface GuardOptions {
  /** The lowest severity that blocks: `medium` blocks medium and high. */
  readonly threshold?: Severity;
  /** Ids of disabled rules. */
  readonly allow?: readonly string[];
}

export interface Guard {
  /** Findings of every severity, one per rule and field. `steps` counts the work, for tests. */
  scan(fields: readonly GuardField[], context?: GuardContext, steps?: { count: number }): Finding[];
  /** The findings that the threshold blocks. */
  blocked(findings: readonly Finding[]): Finding[];
}

const RANK: Readonly<Record<Severity, number>> = { low: 0, medium: 1, high: 2 };
/** Maximum depth of encodings within encodings. */
const DEEPEST = 3;

/** Every rule with its id, family, severity, languages and sentence. */
export function listRules(): Rule[] {
  return [...collectRules().rules.values()];
}

/** A heuristic scanner of definitions. Creating one takes about 25 ms. It is stateless and can be reused. */
export function createGuard({ threshold = 'medium', allow = [] }: GuardOptions = {}): Guard {
  const book = createRuleBook();
  const allowed = new Set(allow);
  // An import scans thousands of definitions with the same list of names.
  const plain_names = new WeakMap<readonly string[], ReadonlySet<string>>();
  const segment = (run: string) => book.lexicon.segment(run);

  /** Ids of the rules that match one reading of a text. */
  function match(folded: string, names: Names, found: Set<string>, steps: { count: number }): void {
    const units = toUnits(markNames(folded, names));
    const hits = book.lexicon.find(units, steps);
    for (const index of book.phrases.match(units, hits, steps)) {
      const id = book.phrase_ids[index];
      if (id !== undefined) found.add(id);
    }
  }

  function matchPatterns(folded: string, found: Set<string>, steps: { count: number }): void {
    for (const { id, needs, pattern } of book.patterns) {
      steps.count += 1;
      if (!found.has(id) && needs.some((need) => folded.includes(need)) && pattern.test(folded)) found.add(id);
    }
  }

  /**
   * Scans all readings of a text: as written, with look-alikes and digits as letters, with spaced and joined words, and decoded.
   */
  function read(text: string, names: Names, found: Set<string>, steps: { count: number }, depth = 0): void {
    const seen = normalise(text);
    // An escaped control character hides nothing: statements search for such characters.
    for (const id of seen.hidden) if (depth === 0 || id !== 'invisible.control_characters') found.add(id);
    const readings = readingsOf(seen, segment);
    for (const reading of readings) {
      match(reading, names, found, steps);
      matchPatterns(reading, found, steps);
    }
    if (depth >= DEEPEST) return;
    const encoded = new Set<string>();
    const letters = seen.folded;
    if (looksLikeRot13(letters)) match(rot13(letters), names, encoded, steps);
    if (seen.hidden.has('invisible.bidi_override')) match(reversed(letters), names, encoded, steps);
    for (const { text: inner } of decode(seen.visible)) read(inner, names, encoded, steps, depth + 1);
    if (seen.smuggled !== '') read(seen.smuggled, names, encoded, steps, depth + 1);
    for (const id of encoded) {
      if (!found.has(id) && severityOf(id) !== 'low') found.add('encoded.instructions');
      found.add(id);
    }
  }

  const severityOf = (id: string) => book.rules.get(id)?.severity ?? 'low';

  return {
    scan(fields, { tool_names = [], own = null } = {}, steps = { count: 0 }) {
      const known = plain_names.get(tool_names) ?? plainNames(tool_names);
      plain_names.set(tool_names, known);
      const itself = own?.toLowerCase();
      const names: Names = { size: known.size, has: (word) => word !== itself && known.has(word) };
      return fields.flatMap(({ field, text, kind }) => {
        const found = new Set<string>();
        if (kind === 'sql') for (const id of normalise(text).hidden) found.add(id);
        for (const part of partsOf(text, kind)) read(part, names, found, steps);
        return Array.from(found)
          .map((id) => book.rules.get(id))
          .filter((rule) => rule !== undefined && rule.kinds.includes(kind) && !allowed.has(rule.id))
          .flatMap((rule) => (rule === undefined ? [] : [{ rule: rule.id, severity: rule.severity, field }]))
          .sort((one, other) => RANK[other.severity] - RANK[one.severity] || one.rule.localeCompare(other.rule));
      });
    },
    blocked: (findings) => findings.filter(({ severity }) => RANK[severity] >= RANK[threshold]),
  };
}

/** In a template, quoted words after "says" or "such as" are an example of an attack, not an instruction. */
const QUOTED_EXAMPLE =
  /\b(?:says?|said|saying|like|such as|e\.g\.|asks?|reads|contains?|phrases?|words)(?: something)?[ :]{1,3}(?:"[^"\n]{1,120}"|“[^”\n]{1,120}”|'[^'\n]{1,120}'|«[^»\n]{1,120}»)/giu;

function partsOf(text: string, kind: GuardTextKind): string[] {
  if (kind === 'sql') return languageOf(text);
  return [kind === 'template' ? text.replace(QUOTED_EXAMPLE, '') : text];
}

function readingsOf({ visible, folded }: Normalised, segment: (run: string) => string[]): Set<string> {
  const latin = skeleton(folded);
  const spellings = latin === undefined ? [folded] : [folded, latin];
  const readings = new Set(spellings);
  for (const reading of spellings) {
    for (const letters of [reading, ...unleet(reading)]) {
      readings.add(letters);
      const joined = unspace(letters, segment);
      if (joined !== undefined) readings.add(joined);
      const parted = partLongWords(letters, segment);
      if (parted !== undefined) readings.add(parted);
    }
  }
  // Words that are joined by capitals ("IgnorePrevious") are also read separately.
  const humps =
    visible.length < 400 && !visible.includes(' ') ? visible.replace(/([a-z])([A-Z])/g, '$1 $2').toLowerCase() : folded;
  return readings.add(humps);
}

/** Names without an underscore. `toUnits` does not recognise them as identifiers. */
type Names = Pick<ReadonlySet<string>, 'size' | 'has'>;

function plainNames(tool_names: readonly string[]): ReadonlySet<string> {
  const names = tool_names.map((name) => name.toLowerCase());
  return new Set(names.filter((name) => name.length >= 3 && !name.includes('_') && /^[\w-]+$/.test(name)));
}

/** Replaces each such name with a word that the rules contain. */
const markNames = (folded: string, names: Names): string =>
  names.size === 0 ? folded : folded.replace(/[\w-]{3,}/g, (word) => (names.has(word) ? 'known_tool' : word));
