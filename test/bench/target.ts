import type { Tree } from './machine.ts';
import type { BenchTool } from './workload.ts';

/** One server under test, with its tools. */
export interface Target {
  readonly name: string;
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  /** The figures of all its programs. */
  measure(): Tree;
  stop(): Promise<void>;
}

/** What a target is started with. */
export interface Offer {
  readonly tools: readonly BenchTool[];
  /** Tools that only stand in the list. */
  readonly filler?: number;
}

/** Asks until there is an answer with tools in it. @returns ms since `began`. */
export async function firstTools(
  { url, headers }: Pick<Target, 'url' | 'headers'>,
  began: number,
  context: () => string = () => '',
): Promise<number> {
  const asked = { method: 'POST', headers: { ...JSON_TYPES, ...headers }, body: LIST_BODY };
  for (;;) {
    const answer = await fetch(url, asked).catch(() => null);
    if (answer !== null && (await answer.text()).includes('"tools":[{')) return performance.now() - began;
    if (performance.now() - began > 30_000) throw new Error(`There is no answer at ${url}. ${context()}`);
    await Bun.sleep(2);
  }
}

export const LIST_BODY = '{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{}}';
export const JSON_TYPES = { 'content-type': 'application/json', accept: 'application/json, text/event-stream' };

/** Calls a tool once and says how the answer begins; throws when it is not the one that was asked for. */
export async function probe(target: Target, body: string, expected: RegExp): Promise<string> {
  const response = await fetch(target.url, {
    method: 'POST',
    headers: { ...JSON_TYPES, ...target.headers },
    body,
  });
  const text = await response.text();
  if (response.status === 200 && expected.test(text)) return text;
  throw new Error(`${target.name} answered ${response.status}: ${text.slice(0, 400)}`);
}
