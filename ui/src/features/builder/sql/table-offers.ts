import type { Output } from '#core/contract/index.ts';
import type { Source } from './table-columns.ts';
import { offersFor, type TableDraft, type TableOffer } from './tables.ts';

/** The tools that a table gives, without those whose statement its database refuses. @param check previews a draft; it describes the statement. */
export async function offersOf(
  source: Source,
  check: (draft: TableDraft) => Promise<Pick<Output<'preview.tool'>, 'refusal'>>,
): Promise<TableOffer[]> {
  const offers = offersFor(source);
  const checked = await Promise.all(offers.map(({ draft }) => check(draft)));
  return offers.filter((_, n) => !refusesStatement(checked[n]?.refusal));
}

/** A refusal of anything else, such as a name that is taken, is for the author to mend. */
const refusesStatement = (refusal: Output<'preview.tool'>['refusal']): boolean =>
  refusal?.errors.some(({ field }) => /^(?:sql_query|parameters)\b/.test(field)) === true;
