import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

/** Every file below a folder, with what is in it as Latin-1. A program that runs may move files meanwhile: then all are read anew. */
export function filesBelow(directory: string): { readonly path: string; readonly text: string }[] {
  for (let attempts = 1; ; attempts++) {
    try {
      return readdirSync(directory, { recursive: true, withFileTypes: true })
        .filter((entry) => entry.isFile())
        .map(({ parentPath, name }) => ({ path: join(parentPath, name), text: readFileSync(join(parentPath, name), 'latin1') }));
    } catch (error) {
      if (attempts === 20 || !(error instanceof Error && 'code' in error && error.code === 'ENOENT')) throw error;
    }
  }
}
