import { FAMILIES, WORDS } from './rules/families.ts';
import type { GuardTextKind, PatternRule, Rule, RuleDraft } from './types.ts';
import { createLexicon, createPhrases, type Lexicon, type Phrases } from './words.ts';

/** Lists that `toUnits` marks by form, in every language. */
const MARKS = new Set(['IDENT', 'LINK', 'ADDRESS']);
const TEXT_AND_SQL: readonly GuardTextKind[] = ['text', 'sql'];

export interface RuleBook {
  readonly rules: ReadonlyMap<string, Rule>;
  readonly lexicon: Lexicon;
  readonly phrases: Phrases;
  /** Ids by the indexes that `phrases.match` returns. */
  readonly phrase_ids: readonly string[];
  readonly patterns: readonly PatternRule[];
}

/** The rules as declared, with the languages that each one covers. */
export function collectRules(): Omit<RuleBook, 'lexicon' | 'phrases'> & {
  readonly phrase_texts: readonly (readonly string[])[];
} {
  const rules = new Map<string, Rule>();
  const phrase_ids: string[] = [];
  const phrase_texts: (readonly string[])[] = [];
  const patterns: PatternRule[] = [];
  for (const { family, ...drafts } of FAMILIES) {
    const add = (draft: RuleDraft, languages: readonly string[]) => {
      const { id, severity, description, kinds = TEXT_AND_SQL } = draft;
      rules.set(id, { id, family, severity, languages, kinds, description });
    };
    for (const rule of drafts.phrases ?? []) {
      add(rule, languagesOf(rule.phrases));
      phrase_ids.push(rule.id);
      phrase_texts.push(rule.phrases);
    }
    for (const rule of drafts.patterns ?? []) {
      add(rule, ['*']);
      patterns.push(rule);
    }
    for (const rule of drafts.reported ?? []) add(rule, ['*']);
  }
  return { rules, phrase_ids, phrase_texts, patterns };
}

/** Prepares word lists and rules for matching: about 25 ms, once per guard. */
export function createRuleBook(): RuleBook {
  const { phrase_texts, ...collected } = collectRules();
  return { ...collected, lexicon: createLexicon(entries()), phrases: createPhrases(phrase_texts) };
}

function entries(): (readonly [string, string])[] {
  return WORDS.flatMap(({ lists }) =>
    Object.entries(lists).flatMap(([list, words]) =>
      words
        .split(',')
        .map((word) => [list, word.trim()] as const)
        .filter(([, word]) => word !== ''),
    ),
  );
}

/** A rule covers a language that has a word for every list of one of its phrases. */
function languagesOf(phrases: readonly string[]): string[] {
  const needed = phrases.map((phrase) => phrase.split(' ').filter((_, index) => index % 2 === 0));
  return WORDS.filter(({ lists }) =>
    needed.some((parts) => parts.every((part) => part.split('|').some((list) => MARKS.has(list) || list in lists))),
  ).map(({ language }) => language);
}
