import type { BoundType } from '#core/lib/sql/result.ts';

/** JSON that is bound as it is would be a quoted text inside of other JSON. */
export const asJson = (placeholder: string, type: BoundType): string => (type === 'json' ? `json(${placeholder})` : placeholder);
