import { type EntityKind, type Plural, ENTITIES } from '#core/contract/entities.ts';
import type { Schema } from './schema.ts';
import type { Store } from './store.ts';

/** A stored record of any noun. */
export interface StoredEntity extends Readonly<Record<string, unknown>> {
  readonly id: string;
  readonly name: string;
  readonly version: number;
  readonly created_at: string;
}

export type EntityValues = Readonly<Record<string, unknown>>;

export type RowOf<K extends EntityKind> = Schema[Plural<K>]['$inferSelect'];

/** The table of a noun. The type has the common columns. A caller that reads other columns must know that they exist. */
export const entityTable = ({ tables }: Pick<Store, 'tables'>, kind: EntityKind): Schema['tools'] =>
  tables[ENTITIES[kind].plural] as Schema['tools'];
