import { ENTITIES, type EntityKind } from '#core/contract/entities.ts';
import type { Store } from './open.ts';
import type { Schema } from './schema.ts';

/** The table of a noun. All have the common columns; which others there are, who asks for one has to know. */
export const entityTable = ({ tables }: Pick<Store, 'tables'>, kind: EntityKind): Schema['tools'] =>
  tables[ENTITIES[kind].plural] as unknown as Schema['tools'];
