import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { reachable, type TestDatabase, testDatabase } from '#test/support/databases.ts';
import type { Run } from './batches.ts';
import { groupOf, IN_POSTGRESQL, isIn, type Layer, missingFor, ROOT, VARIANTS } from './layers.ts';

export function allTestFiles(): string[] {
  return readdirSync(join(ROOT, 'test'), { recursive: true, encoding: 'utf8' })
    .map((path) => `test/${path.replaceAll('\\', '/')}`)
    .filter((path) => /\.test\.tsx?$/.test(path) && !path.includes('/node_modules/'))
    .toSorted((a, b) => (a < b ? -1 : 1));
}

/** What a layer runs of these files, and sentences about what it leaves out. */
export function planned(files: readonly string[], layer: Layer): { runs: Run[]; left_out: string[] } {
  const runs: Run[] = [];
  const left_out = new Map<string, number>();
  const leaveOut = (what: string) => left_out.set(what, (left_out.get(what) ?? 0) + 1);
  const plain = files.filter((file) => {
    const install = missingFor(file);
    const group = layer === 'daily' ? groupOf(file) : null;
    if (install !== null) leaveOut(`needs ${install}`);
    else if (group !== null) leaveOut(group.name);
    else runs.push({ file, variant: '', environment: {} });
    return install === null && group === null;
  });
  for (const { name, environment, files: varies, daily } of VARIANTS) {
    // Without a PostgreSQL server the tests that name it are skipped, or fail in CI; there is no need to say so twice.
    if (name === IN_POSTGRESQL && !reachable.postgres) continue;
    for (const file of plain.filter(varies)) {
      if (layer === 'full' || isIn(file, daily)) runs.push({ file, variant: name, environment });
      else leaveOut(`a second run${name}`);
    }
  }
  return { runs, left_out: [...left_out].map(([what, count]) => `${count} ${count === 1 ? 'file' : 'files'}: ${what}`) };
}

/** What the metadata databases of the tests are copies of: the migrations run once. */
export async function migratedDatabase(): Promise<TestDatabase> {
  const { openStore } = await import('#core/store/open.ts');
  const database = await testDatabase('postgresql');
  await (await openStore(database.url)).close();
  return database;
}
