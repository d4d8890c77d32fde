import { readFile, stat } from 'node:fs/promises';
import { join } from 'node:path';
import * as v from 'valibot';
import { AppError } from '#core/errors.ts';
import type { Finding, GuardField } from './guard.ts';
import { createTokenizer, type Tokenizer } from './tokenizer.ts';

/** The part of onnxruntime-node that is used (its `InferenceSession` and `Tensor`). */
export interface OnnxRuntime {
  readonly InferenceSession: { create(path: string, options?: object): Promise<OnnxSession> };
  readonly Tensor: new (type: 'int64' | 'string', data: BigInt64Array | string[], dims: readonly number[]) => unknown;
}

interface OnnxSession {
  readonly inputNames: readonly string[];
  readonly outputNames: readonly string[];
  run(
    feeds: Record<string, unknown>,
  ): Promise<Record<string, { readonly type: string; readonly data: ArrayLike<unknown>; readonly dims: readonly number[] }>>;
  release(): Promise<void>;
}

/** A text classifier that says how much a text looks like an injection. */
export interface GuardModel {
  /** 0 (ordinary) to 1 (injection); of a long text that of its worst window. */
  score(text: string): Promise<number>;
  close(): Promise<void>;
}

const Config = v.object({
  id2label: v.optional(v.record(v.string(), v.string())),
  max_position_embeddings: v.optional(v.number(), 512),
});

const ATTACK_LABEL = /injection|jailbreak|malicious|unsafe|attack|^label_1$/i;
/** A text is scored in at most this many windows. */
const MOST_WINDOWS = 8;
const WINDOW = 512;

/** onnxruntime-node when somebody installed it; it is no dependency of ours. */
export async function loadRuntime(): Promise<OnnxRuntime | undefined> {
  // A name in a variable keeps bundlers and the type checker from asking for the package.
  const name: string = 'onnxruntime-node';
  try {
    return (await import(name)) as OnnxRuntime;
  } catch {
    return undefined;
  }
}

/**
 * Opens the classifier in `dir`: `model.onnx`, which takes either one tensor of strings, or token ids together with a
 * `tokenizer.json`; `config.json` names the classes. Undefined when there is no `model.onnx` or no runtime: the guard then
 * works with its rules alone. Throws `invalid` for a folder that is there and can't be used.
 */
export async function openModel(
  dir: string,
  load: () => Promise<OnnxRuntime | undefined> = loadRuntime,
): Promise<GuardModel | undefined> {
  const path = join(dir, 'model.onnx');
  if (!(await isFile(path))) return undefined;
  const runtime = await load();
  if (runtime === undefined) return undefined;
  const config = v.parse(Config, (await readJson(join(dir, 'config.json'))) ?? {});
  const tokenizer_json = await readJson(join(dir, 'tokenizer.json'));
  const tokenizer = tokenizer_json === undefined ? undefined : createTokenizer(tokenizer_json);
  let session: OnnxSession;
  try {
    session = await runtime.InferenceSession.create(path, { intraOpNumThreads: 1, interOpNumThreads: 1 });
  } catch (cause) {
    throw new AppError('invalid', 'The model.onnx of the prompt guard could not be loaded. Replace the file or remove it.', {
      cause,
    });
  }
  const { inputNames: names } = session;
  const { Tensor } = runtime;
  if (tokenizer === undefined && names.length !== 1) {
    await session.release();
    throw new AppError('invalid', 'The prompt guard model takes token ids, but its folder has no tokenizer.json.');
  }
  const label = attackLabel(config.id2label);
  const window = Math.min(WINDOW, config.max_position_embeddings);

  return {
    async score(text) {
      const feeds =
        tokenizer === undefined
          ? [{ [names[0] ?? '']: new Tensor('string', [text], [1, 1]) }]
          : windowsOf(text, tokenizer, window).map(toFeeds);
      let worst = 0;
      for (const feed of feeds) {
        const outputs = await session.run(feed);
        const last = session.outputNames.map((name) => outputs[name]).findLast((output) => output?.type === 'float32');
        worst = Math.max(worst, probability(Array.from(last?.data ?? [], Number), label));
      }
      return worst;
    },
    close: () => session.release(),
  };

  function toFeeds(ids: readonly number[]): Record<string, unknown> {
    const tensor = (value: (id: number) => number) =>
      new Tensor(
        'int64',
        BigInt64Array.from(ids, (id) => BigInt(value(id))),
        [1, ids.length],
      );
    const feed = (name: string) =>
      name.includes('mask') ? tensor(() => 1) : name.includes('type') ? tensor(() => 0) : tensor((id) => id);
    return Object.fromEntries(names.map((name) => [name, feed(name)]));
  }
}

export const MODEL_RULE = 'model.injection';
const MEDIUM = 0.9;
const HIGH = 0.99;

/** Scores the fields of ordinary text; statements and templates are never given to a model, which takes them for attacks. */
export async function scanWithModel(
  model: GuardModel,
  fields: readonly GuardField[],
  allow: readonly string[] = [],
): Promise<Finding[]> {
  if (allow.includes(MODEL_RULE)) return [];
  const findings: Finding[] = [];
  for (const { field, text, kind } of fields) {
    if (kind !== 'text' || text.trim() === '') continue;
    const score = await model.score(text);
    if (score >= MEDIUM) findings.push({ rule: MODEL_RULE, severity: score >= HIGH ? 'high' : 'medium', field });
  }
  return findings;
}

/** Windows overlap by an eighth, so that no sentence is cut in all of them. */
function windowsOf(text: string, tokenizer: Tokenizer, window: number): number[][] {
  const ids = tokenizer.encode(text);
  const room = window - 2;
  const step = Math.max(1, room - (room >> 3));
  const windows: number[][] = [];
  for (let start = 0; windows.length < MOST_WINDOWS && (start === 0 || start + (room - step) < ids.length); start += step) {
    windows.push([tokenizer.begin, ...ids.slice(start, start + room), tokenizer.end]);
  }
  return windows;
}

function attackLabel(labels: Readonly<Record<string, string>> = {}): number {
  const found = Object.entries(labels).find(([, label]) => ATTACK_LABEL.test(label));
  return found === undefined ? 1 : Number(found[0]);
}

/** One number is a logit or probability, several are logits or probabilities of the classes. */
function probability(values: readonly number[], label: number): number {
  const probabilities = values.every((value) => value >= 0 && value <= 1);
  const [single] = values;
  if (values.length === 1 && single !== undefined) return probabilities ? single : 1 / (1 + Math.exp(-single));
  const sum = values.reduce((total, value) => total + value, 0);
  if (probabilities && Math.abs(sum - 1) < 1e-3) return values[label] ?? 0;
  const top = Math.max(...values);
  const exponents = values.map((value) => Math.exp(value - top));
  return (exponents[label] ?? 0) / exponents.reduce((total, value) => total + value, 0);
}

async function isFile(path: string): Promise<boolean> {
  return stat(path).then(
    (found) => found.isFile(),
    () => false,
  );
}

async function readJson(path: string): Promise<unknown> {
  if (!(await isFile(path))) return undefined;
  try {
    return JSON.parse(await readFile(path, 'utf8')) as unknown;
  } catch (cause) {
    throw new AppError('invalid', 'A JSON file in the folder of the prompt guard model can not be read.', { cause });
  }
}
