import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { is_compiled, productFile } from './product.ts';

/** Where a file of a package is that we are installed with: below us, or beside us where npm installed us as a package too. */
export function packageFile(path: string): string {
  const below = productFile(join('node_modules', path));
  const beside = productFile(join('..', path));
  return !is_compiled && !existsSync(below) && existsSync(beside) ? beside : below;
}
