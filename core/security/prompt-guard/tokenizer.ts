import * as v from 'valibot';
import { AppError } from '#core/errors.ts';

/** Turns text into the numbers a model was trained on. */
export interface Tokenizer {
  /** Ids of the text without the marks of beginning and end. */
  encode(text: string): number[];
  readonly begin: number;
  readonly end: number;
}

const AddedToken = v.object({ id: v.number(), content: v.string() });
const WordPiece = v.object({
  type: v.literal('WordPiece'),
  vocab: v.record(v.string(), v.number()),
  unk_token: v.optional(v.string(), '[UNK]'),
  continuing_subword_prefix: v.optional(v.string(), '##'),
  max_input_chars_per_word: v.optional(v.number(), 100),
});
const Unigram = v.object({
  type: v.literal('Unigram'),
  vocab: v.array(v.tuple([v.string(), v.number()])),
  unk_id: v.optional(v.nullable(v.number()), 0),
});
const File = v.object({
  added_tokens: v.optional(v.array(AddedToken), []),
  normalizer: v.optional(v.unknown()),
  model: v.variant('type', [WordPiece, Unigram]),
});

/**
 * Reads a `tokenizer.json` in the format of Hugging Face tokenizers, for WordPiece (BERT and its kin) and Unigram
 * (SentencePiece: DeBERTa v2 and v3, XLM-R). Throws `invalid` for any other.
 */
export function createTokenizer(json: unknown): Tokenizer {
  const parsed = v.safeParse(File, json);
  if (!parsed.success) {
    throw new AppError(
      'invalid',
      'The tokenizer.json of the prompt guard model is neither WordPiece nor Unigram. Use a model with one of these tokenizers.',
    );
  }
  const { added_tokens, model, normalizer } = parsed.output;
  const special = (...names: string[]) => {
    const found = added_tokens.find(({ content }) => names.includes(content))?.id;
    if (found !== undefined) return found;
    throw new AppError('invalid', `The tokenizer.json of the prompt guard model has none of the tokens ${names.join(' and ')}.`);
  };
  const encode =
    model.type === 'WordPiece' ? wordPiece(model, JSON.stringify(normalizer ?? '').includes('"lowercase":true')) : unigram(model);
  return { encode, begin: special('[CLS]', '<s>'), end: special('[SEP]', '</s>') };
}

function wordPiece(model: v.InferOutput<typeof WordPiece>, lowercase: boolean): (text: string) => number[] {
  const vocab = new Map(Object.entries(model.vocab));
  const unknown = vocab.get(model.unk_token) ?? 0;
  return (text) => {
    const folded = lowercase
      ? text
          .toLowerCase()
          .normalize('NFD')
          .replace(/\p{Mn}/gu, '')
      : text;
    const words = folded.match(/[\p{L}\p{M}\p{N}]+|[^\p{L}\p{M}\p{N}\s]/gu) ?? [];
    return words.flatMap((word) => pieces(word));
  };

  function pieces(word: string): number[] {
    if (word.length > model.max_input_chars_per_word) return [unknown];
    const ids: number[] = [];
    for (let start = 0; start < word.length;) {
      let end = word.length;
      let id: number | undefined;
      for (; end > start && id === undefined; end -= 1) {
        id = vocab.get((start === 0 ? '' : model.continuing_subword_prefix) + word.slice(start, end));
        if (id !== undefined) break;
      }
      if (id === undefined) return [unknown];
      ids.push(id);
      start = end;
    }
    return ids;
  }
}

/** Longest piece that is tried; SentencePiece vocabularies hold none longer than 16 letters by default. */
const LONGEST_PIECE = 32;
/** What an unknown letter costs, below the worst piece (SentencePiece's own constant). */
const UNKNOWN_PENALTY = 10;

function unigram(model: v.InferOutput<typeof Unigram>): (text: string) => number[] {
  const vocab = new Map(model.vocab.map(([piece, score], id) => [piece, { id, score }]));
  const unknown = model.unk_id ?? 0;
  const penalty = model.vocab.reduce((worst, [, score]) => Math.min(worst, score), 0) - UNKNOWN_PENALTY;
  return (text) => {
    const words = text.normalize('NFKC').replace(/\s+/gu, ' ').trim().split(' ');
    return words.flatMap((word) => (word === '' ? [] : best(`\u2581${word}`)));
  };

  /** The pieces with the greatest sum of scores (Viterbi). */
  function best(word: string): number[] {
    const scores = new Float64Array(word.length + 1).fill(-Infinity);
    const back: { from: number; id: number }[] = [];
    scores[0] = 0;
    for (let end = 1; end <= word.length; end += 1) {
      for (let start = Math.max(0, end - LONGEST_PIECE); start < end; start += 1) {
        const piece = vocab.get(word.slice(start, end));
        const score = (scores[start] ?? -Infinity) + (piece?.score ?? (end - start === 1 ? penalty : -Infinity));
        if (score <= (scores[end] ?? -Infinity)) continue;
        scores[end] = score;
        back[end] = { from: start, id: piece?.id ?? unknown };
      }
    }
    const ids: number[] = [];
    for (let at = word.length; at > 0; at = back[at]?.from ?? 0) ids.push(back[at]?.id ?? unknown);
    return ids.toReversed();
  }
}
