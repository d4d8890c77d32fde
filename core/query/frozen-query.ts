import type { MaskRule } from './masks.ts';
import type { PageColumn } from '#core/lib/sql/paging.ts';
import type { Parameter } from '#core/contract/definitions/parameters.ts';
import type { Statement } from '#core/lib/sql/statement.ts';

/** What one call runs and within which limits: shared by tools and resources. */
export interface FrozenQuery {
  readonly connection_id: string;
  readonly statement: Statement;
  readonly mode: 'fixed' | 'read' | 'write';
  readonly parameters: readonly Parameter[];
  readonly timeout_ms: number;
  readonly max_rows: number;
  readonly max_bytes: number;
  /** Absent: no limit of its own. */
  readonly max_tokens?: number;
  /** What orders the pages of its rows; absent: it has none. */
  readonly page_by?: readonly PageColumn[];
  readonly transform_template: string | null;
  /** Absent: everybody sees the rows as they are. */
  readonly masks?: readonly MaskRule[];
  /** It runs text of its caller as SQL; absent otherwise, and of resources that an older release froze. */
  readonly passthrough?: true;
}
