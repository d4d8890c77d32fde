import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { productFile } from '#core/process/product.ts';

interface Journal {
  readonly entries: readonly { readonly when: number; readonly tag: string }[];
}

/** What an older version ran in an empty metadata database. @param before the first migration that it did not have, without its number. */
export function olderMetadata(dialect: 'sqlite' | 'postgresql', before: string): string[] {
  const folder = productFile(`core/store/migrations/${dialect === 'sqlite' ? 'sqlite' : 'pg'}`);
  const { entries } = JSON.parse(readFileSync(join(folder, 'meta/_journal.json'), 'utf8')) as Journal;
  const end = entries.findIndex(({ tag }) => tag.replace(/^\d+_/, '') === before);
  if (end === -1) throw new Error(`There is no migration ${before}.`);
  return [
    'create table if not exists migrations (created_at bigint primary key, hash text not null)',
    ...entries
      .slice(0, end)
      .flatMap(({ tag, when }) => [
        ...readFileSync(join(folder, `${tag}.sql`), 'utf8').split('--> statement-breakpoint'),
        `insert into migrations (created_at, hash) values (${when}, '${tag}')`,
      ]),
  ];
}
