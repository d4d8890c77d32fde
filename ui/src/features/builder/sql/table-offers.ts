import type { Output } from '#core/contract/index.ts';
import { draftFromTable, recipesFor, type Source, type TableDraft, type TableRecipe } from './tables.ts';

export interface TableOffer {
  readonly recipe: TableRecipe;
  readonly label: string;
  readonly draft: TableDraft;
}

/** The tools that a table gives, without those whose statement its database refuses. @param check previews a draft; it describes the statement. */
export async function offersOf(
  source: Source,
  check: (draft: TableDraft) => Promise<Pick<Output<'preview.tool'>, 'refusal'>>,
): Promise<TableOffer[]> {
  const offers = recipesFor(source.columns).map(({ recipe, label }) => ({
    recipe,
    label,
    draft: draftFromTable(recipe, source),
  }));
  const checked = await Promise.all(offers.map(({ draft }) => check(draft)));
  return offers.filter((_, n) => !refusesStatement(checked[n]?.refusal));
}

/** A refusal of anything else, such as a name that is taken, is for the author to mend. */
const refusesStatement = (refusal: Output<'preview.tool'>['refusal']): boolean =>
  refusal?.errors.some(({ field }) => /^(?:sql_query|parameters)\b/.test(field)) === true;
