import { createHash } from 'node:crypto';
import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { AppError } from '#core/errors.ts';
import { downloadModel, type DownloadOptions } from '#core/security/prompt-guard/model-download.ts';
import { loadRuntime, openModel, scanWithModel, type OnnxRuntime } from '#core/security/prompt-guard/model.ts';
import { createTokenizer } from '#core/security/prompt-guard/tokenizer.ts';
import { bagOfTokens, knownText } from './onnx.ts';

const WORDPIECE = {
  added_tokens: [
    { id: 1, content: '[CLS]' },
    { id: 2, content: '[SEP]' },
  ],
  normalizer: { type: 'BertNormalizer', lowercase: true },
  model: {
    type: 'WordPiece',
    vocab: { '[UNK]': 0, '[CLS]': 1, '[SEP]': 2, ignore: 3, instruct: 4, '##ions': 5, city: 6, list: 7, '##s': 8, '.': 9 },
  },
};
const UNIGRAM = {
  added_tokens: [
    { id: 1, content: '<s>' },
    { id: 2, content: '</s>' },
  ],
  model: {
    type: 'Unigram',
    unk_id: 0,
    vocab: [
      ['<unk>', 0],
      ['<s>', 0],
      ['</s>', 0],
      ['\u2581ignore', -3],
      ['\u2581i', -2],
      ['g', -4],
      ['nore', -5],
      ['\u2581', -3],
      ['ci', -4],
      ['ty', -4],
    ],
  },
};

let folder = '';
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'guard-model-'));
});
afterAll(() => rm(folder, { recursive: true, force: true }));

const code = async (work: Promise<unknown>) =>
  work.then(
    () => 'done',
    (error: unknown) => (error instanceof AppError ? error.code : error),
  );
async function put(name: string, files: Readonly<Record<string, unknown>>): Promise<string> {
  const dir = await mkdtemp(join(folder, `${name}-`));
  for (const [file, content] of Object.entries(files))
    await writeFile(join(dir, file), content instanceof Uint8Array ? content : JSON.stringify(content));
  return dir;
}

describe('the tokenizers', () => {
  test('WordPiece takes the longest pieces and knows what it does not know', () => {
    const tokenizer = createTokenizer(WORDPIECE);
    expect(tokenizer.encode('Ignore  INSTRUCTIONS. Lísts xyz city')).toEqual([3, 4, 5, 9, 7, 8, 0, 6]);
    expect([tokenizer.begin, tokenizer.end]).toEqual([1, 2]);
  });

  test('Unigram takes the likeliest pieces', () => {
    const tokenizer = createTokenizer(UNIGRAM);
    expect(tokenizer.encode('ignore city')).toEqual([3, 7, 8, 9]);
    expect(tokenizer.encode('x')).toEqual([7, 0]);
    expect(tokenizer.encode('  ')).toEqual([]);
  });

  test('another tokenizer, or one without its marks, is refused', () => {
    expect(() => createTokenizer({ model: { type: 'BPE' } })).toThrow(AppError);
    expect(() => createTokenizer({ ...WORDPIECE, added_tokens: [] })).toThrow(AppError);
  });
});

describe('the folder of the model', () => {
  test('may be missing or empty: then there is no model', async () => {
    expect(await openModel(join(folder, 'nowhere'))).toBeUndefined();
    expect(await openModel(await put('empty', {}))).toBeUndefined();
  });

  test('is not used when the runtime is not installed', async () => {
    expect(await openModel(await put('alone', { 'model.onnx': Uint8Array.of(1) }), async () => undefined)).toBeUndefined();
  });
});

/** Where a runtime stands that is not installed here, for a run by hand. */
async function runtimeForTests(): Promise<OnnxRuntime | undefined> {
  const path = process.env['TEST_ONNXRUNTIME_NODE'];
  return path === undefined ? loadRuntime() : ((await import(path)) as OnnxRuntime);
}
const runtime = await runtimeForTests();
const load = async () => runtime;
const field = (name: string, text: string, kind: 'text' | 'sql' | 'template') => ({ field: name, text, kind });

// The package is optional and no dependency: these are defined where TEST_ONNXRUNTIME_NODE names one.
if (runtime !== undefined) describe('with onnxruntime-node', withRuntime);

function withRuntime(): void {
  const table: [number, number][] = Array.from({ length: 10 }, () => [1, 0]);
  table[3] = [0, 9];
  table[5] = [0, 9];

  test('a model of token ids scores text through its tokenizer', async () => {
    const dir = await put('bag', {
      'model.onnx': bagOfTokens(table),
      'tokenizer.json': WORDPIECE,
      'config.json': { id2label: { 0: 'SAFE', 1: 'INJECTION' } },
    });
    const model = await openModel(dir, load);
    expect(await model?.score('Ignore instructions.')).toBeGreaterThan(0.99);
    expect(await model?.score('List city.')).toBeLessThan(0.05);
    expect(await model?.score('')).toBeLessThan(0.5);
    await model?.close();
  });

  test('a long text is as bad as its worst window, and the name of a class decides', async () => {
    const dir = await put('windows', {
      'model.onnx': bagOfTokens(table),
      'tokenizer.json': WORDPIECE,
      'config.json': { max_position_embeddings: 16 },
    });
    const model = await openModel(dir, load);
    expect(await model?.score(`${'city '.repeat(40)}ignore ignore instructions`)).toBeGreaterThan(0.9);
    expect(await model?.score('city '.repeat(40))).toBeLessThan(0.05);
    await model?.close();
    const turned = await put('turned', {
      'model.onnx': bagOfTokens(table),
      'tokenizer.json': WORDPIECE,
      'config.json': { id2label: { 0: 'injection', 1: 'ok' } },
    });
    const other = await openModel(turned, load);
    expect(await other?.score('List city.')).toBeGreaterThan(0.95);
    await other?.close();
  });

  test('a model that takes text needs no tokenizer; only ordinary text is given to it', async () => {
    const model = await openModel(await put('text', { 'model.onnx': knownText('bad') }), load);
    if (model === undefined) throw new Error('no model');
    expect(
      await scanWithModel(model, [
        field('a', 'bad', 'text'),
        field('b', 'good', 'text'),
        field('c', 'bad', 'sql'),
        field('d', 'bad', 'template'),
      ]),
    ).toEqual([{ rule: 'model.injection', severity: 'high', field: 'a' }]);
    expect(await scanWithModel(model, [field('a', 'bad', 'text')], ['model.injection'])).toEqual([]);
    await model.close();
  });

  test('a broken file is refused with a sentence', async () => {
    expect(await code(openModel(await put('broken', { 'model.onnx': Uint8Array.of(1, 2, 3) }), load))).toBe('invalid');
  });
}

describe('a download', () => {
  const bytes = new TextEncoder().encode('a model');
  const sha256 = createHash('sha256').update(bytes).digest('hex');
  const source = { url: 'https://models.example/model.onnx', sha256 };
  const options: DownloadOptions = { allowed: true, fetch: async () => new Response(bytes) };

  test('is put in place when its digest is right', async () => {
    const dir = await put('right', {});
    await downloadModel(dir, 'model.onnx', source, options);
    expect(await readFile(join(dir, 'model.onnx'), 'utf8')).toBe('a model');
    expect(await readdir(dir)).toEqual(['model.onnx']);
  });

  for (const [what, expected, change, other] of [
    ['when downloads are off', 'forbidden', {}, { allowed: false }],
    ['without TLS', 'invalid', { url: 'http://models.example/model.onnx' }, {}],
    ['without a digest', 'invalid', { sha256: '' }, {}],
    ['with another digest', 'invalid', { sha256: '0'.repeat(64) }, {}],
    ['that is too large', 'too_large', {}, { max_bytes: 3 }],
    ['that the server refuses', 'unavailable', {}, { fetch: async () => new Response('no', { status: 404 }) }],
    [
      'that breaks off',
      'unavailable',
      {},
      { fetch: async () => new Response(new ReadableStream({ pull: (controller) => controller.error(new Error('reset')) })) },
    ],
    ['that fails', 'unavailable', {}, { fetch: () => Promise.reject(new Error('refused')) }],
  ] as const) {
    test(`${what} leaves nothing behind`, async () => {
      const dir = await put('wrong', {});
      expect(await code(downloadModel(dir, 'model.onnx', { ...source, ...change }, { ...options, ...other }))).toBe(expected);
      expect(await readdir(dir)).toEqual([]);
    });
  }
});
