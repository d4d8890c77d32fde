import { tabStorage } from '#ui/src/kernel/storage.ts';
import type { Members } from '#core/lib/view/table.ts';
import { parseJson } from '#ui/src/kernel/json.ts';
import type { Refusal } from './mcp-client.ts';
import type { Result } from './result.ts';

/** Where the playground keeps its calls until the tab is closed. */
export const RUNS_KEY = 'playground.runs';

/** A call of the playground, as far as other pages read it. */
export interface StoredRun {
  readonly offer: { readonly noun: 'tool' | 'resource' | 'template' | 'prompt'; readonly name: string };
  readonly values: Members;
  /** When it was sent, by the clock of this browser, and how long the answer took. */
  readonly at: string;
  readonly ms: number;
  readonly result: Result | undefined;
  readonly refusal?: Refusal | undefined;
}

export const kindOfRun = ({ offer }: StoredRun) => (offer.noun === 'template' ? 'resource' : offer.noun);

/** The calls that this tab still knows. */
export const storedRuns = (): readonly StoredRun[] => (parseJson(tabStorage.read(RUNS_KEY) ?? '') ?? []) as StoredRun[];
