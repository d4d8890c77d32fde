import type { ScalarType } from '#core/contract/definitions/parameters.ts';
import type { ColumnUses } from '#core/contract/definitions/schema.ts';

/** What each type of a catalogue is compared with. */
export type ParameterTypes = ReadonlyMap<string, ScalarType>;

export const parameterTypes = (lists: Readonly<Partial<Record<ScalarType, string>>>): ParameterTypes =>
  new Map(
    Object.entries(lists).flatMap(([type, names]) =>
      names.split('|').map((name): [string, ScalarType] => [name, type as ScalarType]),
    ),
  );

/** A column that nothing but `select` is sure to read. */
export const NO_USES: ColumnUses = { parameter: null, sortable: false, searchable: false };
