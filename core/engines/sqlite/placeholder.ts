import type { BoundType } from '#core/lib/sql/result.ts';

/** Bound JSON must be wrapped: inside other JSON it would become a quoted text. */
export const asJson = (placeholder: string, type: BoundType): string => (type === 'json' ? `json(${placeholder})` : placeholder);
