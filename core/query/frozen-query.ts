import type { MaskRule } from './masks.ts';
import type { PageColumn } from '#core/lib/sql/paging.ts';
import type { FrozenPlanLimits } from '#core/contract/definitions/pages.ts';
import type { Parameter } from '#core/contract/definitions/parameters.ts';
import type { Statement } from '#core/lib/sql/statement.ts';

/** The statement of one tool or resource with its limits. */
export interface FrozenQuery extends FrozenPlanLimits {
  readonly connection_id: string;
  readonly statement: Statement;
  readonly mode: 'fixed' | 'read' | 'write';
  readonly parameters: readonly Parameter[];
  readonly timeout_ms: number;
  readonly max_rows: number;
  readonly max_bytes: number;
  /** Absent: no token limit. */
  readonly max_tokens?: number;
  /** The columns that order the pages; absent: no pages. */
  readonly page_by?: readonly PageColumn[];
  readonly transform_template: string | null;
  /** Absent: all callers see unmasked rows. */
  readonly masks?: readonly MaskRule[];
  /** The statement runs SQL text from the caller. */
  readonly passthrough?: true;
}
