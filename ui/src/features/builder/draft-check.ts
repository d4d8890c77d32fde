import { createEffect, createMemo, createSignal, on, onCleanup } from 'solid-js';
import type { LintFinding } from '#core/contract/lint.ts';
import type { Output } from '#core/contract/index.ts';
import type { Fault } from '#ui/src/components/editor/code-editor.tsx';
import { createLiveCheck } from '#ui/src/features/run/runner.ts';
import { type FormSchema, inLabels } from '#ui/src/kernel/form/form.ts';
import { useKernel } from '#ui/src/kernel/kernel.ts';
import type { Problem } from '#ui/src/kernel/problem.ts';
import { rangeInText } from './sql/template.ts';

/** What the checks of all kinds of definitions return. */
export interface Checked extends Pick<Output<'preview.tool'>, 'findings' | 'refusal' | 'lint' | 'listing'> {
  readonly warnings?: readonly string[] | undefined;
}

interface DraftCheckOptions<C> {
  /** Everything that the result depends on. */
  readonly watch: () => unknown;
  /** Sends the draft; undefined: there is nothing to check yet. */
  readonly load: (signal: AbortSignal) => Promise<C | undefined>;
  readonly sql: () => string;
  /** Its labels replace the field names in messages. */
  readonly schema: FormSchema;
}

export type DraftCheck<C extends Checked = Checked> = ReturnType<typeof useDraftCheck<C>>;

/** The server's check of a draft while it is edited: what a model would see of it, or why saving would be refused. */
export function useDraftCheck<C extends Checked>(options: DraftCheckOptions<C>) {
  const [checked, setChecked] = createSignal({ sql: '' });
  const { presence, session } = useKernel();
  const check = createLiveCheck(async (signal) => {
    if (!session.may('preview.tool')) return undefined;
    const sql = options.sql();
    try {
      return await options.load(signal);
    } finally {
      await presence.released();
      if (!signal.aborted) setChecked({ sql });
    }
  });
  createEffect(
    on(
      () => JSON.stringify(options.watch()),
      () => check.touch(),
    ),
  );
  onCleanup(() => check.stop());

  const problem = createMemo<Problem | undefined>(() => {
    const failed = check.problem();
    if (failed !== undefined && failed.code !== 'aborted') return inLabels(failed, options.schema);
    const refusal = check.data()?.refusal;
    if (refusal === undefined) return undefined;
    const { detail, errors, position } = refusal;
    return inLabels({ code: 'invalid', detail, errors, ...(position === undefined ? {} : { position }) }, options.schema);
  });
  const errors = createMemo(
    () =>
      new Map([
        ...(check.data()?.findings ?? []).flatMap(({ field, rule, blocked }): [string, string][] =>
          blocked ? [[field, `Reads like an instruction to a model (${rule}). Reword it before you save.`]] : [],
        ),
        ...(problem()?.errors ?? []).map(({ field, message }): [string, string] => [field, message]),
      ]),
  );

  return {
    data: check.data,
    /** Lint findings in a field, or in what is below its path. */
    lint: (path: string): readonly LintFinding[] =>
      (check.data()?.lint ?? []).filter(({ field }) => field === path || field?.startsWith(`${path}.`) === true),
    problem,
    pending: check.pending,
    settle: check.settle,
    error: (path: string): string | undefined => errors().get(path),
    approved: () => (problem() === undefined ? check.data() : undefined),
    refused: () => {
      const found = problem();
      return found === undefined ? undefined : { problem: found, sql: checked().sql };
    },
    /** The ranges of a text that a refusal of its field, or a failure at run time, names. */
    faultsOf(field: string, text: string, failure?: string): Fault[] {
      const sentences = [errors().get(field), failure].filter((sentence) => sentence !== undefined);
      return sentences.flatMap((message) => {
        const range = text === '' ? undefined : rangeInText(message, text);
        return range === undefined ? [] : [{ ...range, message }];
      });
    },
  };
}
