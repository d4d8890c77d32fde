import type { BuildStep, BuiltTable } from './files/plan.ts';
import type { Column } from '#core/lib/sql/result.ts';
import type { DuckdbDescribed, DuckdbFault, DuckdbPart, DuckdbRows, DuckdbRun, DuckdbText } from './requests.ts';

/** Requests of the parent. There is one at a time, so an answer needs no number. `stop` has no answer. */
export type DuckdbQuestion =
  | { readonly ask: 'open'; readonly path: string }
  | ({ readonly ask: 'run' } & DuckdbRun)
  /** Starts a statement whose rows `part` fetches. */
  | ({ readonly ask: 'stream' } & DuckdbRun)
  | { readonly ask: 'part' }
  | { readonly ask: 'describe'; readonly statements: readonly DuckdbText[] }
  | { readonly ask: 'build'; readonly file: string; readonly copy_of: string | null; readonly steps: readonly BuildStep[] }
  | { readonly ask: 'stop' };

export type DuckdbAnswer =
  | { readonly answer: 'opened'; readonly version: string }
  | { readonly answer: 'rows'; readonly result: DuckdbRows }
  | { readonly answer: 'streaming'; readonly columns: readonly Column[] }
  | { readonly answer: 'part'; readonly part: DuckdbPart }
  | { readonly answer: 'described'; readonly statements: readonly (DuckdbDescribed | { readonly fault: DuckdbFault })[] }
  /** Sent before each file, so that the parent knows at which file the process ended. */
  | { readonly answer: 'reading'; readonly step: number }
  | { readonly answer: 'built'; readonly tables: readonly BuiltTable[] }
  /** The optional package is not installed. */
  | { readonly answer: 'missing'; readonly message: string }
  | { readonly answer: 'fault'; readonly fault: DuckdbFault };
