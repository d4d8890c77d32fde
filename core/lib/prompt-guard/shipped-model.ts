import { readFileSync } from 'node:fs';
import path from './model.bin' with { type: 'file' };
import { type Model, openModel } from './model.ts';

let shipped: Model | undefined;

/** The model that ships with the product, read once. `test/core/lib/prompt-guard/training/train.ts` writes its file. */
export function guardModel(): Model {
  shipped ??= openModel(Uint8Array.from(readFileSync(path)));
  return shipped;
}
