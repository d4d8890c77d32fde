import type { Family, WordLists } from '../types.ts';
import { promptLeak, dataExfiltration, secrets } from './extraction.ts';
import { delimiter, encoded, fakeTurn, hiddenMarkup, invisible, learned } from './markers.ts';
import { jailbreak, override, persona } from './override.ts';
import { poisoning, shadowing } from './tools.ts';
import { chinese, hindi, japanese, korean, turkish } from './words-asian.ts';
import { english } from './words-en.ts';
import { dutch, german, swedish } from './words-germanic.ts';
import { arabic, indonesian, vietnamese } from './words-other.ts';
import { french, italian, portuguese, spanish } from './words-romance.ts';
import { czech, polish, russian, ukrainian } from './words-slavic.ts';

export const FAMILIES: readonly Family[] = [
  override,
  persona,
  jailbreak,
  promptLeak,
  secrets,
  poisoning,
  shadowing,
  dataExfiltration,
  fakeTurn,
  delimiter,
  hiddenMarkup,
  encoded,
  invisible,
  learned,
];

export const WORDS: readonly WordLists[] = [
  english,
  german,
  dutch,
  swedish,
  french,
  spanish,
  portuguese,
  italian,
  russian,
  ukrainian,
  polish,
  czech,
  chinese,
  japanese,
  korean,
  turkish,
  hindi,
  arabic,
  vietnamese,
  indonesian,
];
