import { useKernel } from '#ui/src/kernel/kernel.ts';
import { createEffect, createMemo, createSignal, on, onCleanup } from 'solid-js';
import type { LintFinding } from '#core/contract/lint.ts';
import type { Output } from '#core/contract/index.ts';
import type { Fault } from '#ui/src/components/editor/code-editor.tsx';
import { createLiveCheck } from '#ui/src/features/run/runner.ts';
import { placeInText } from './sql/template.ts';
import { type FormSchema, inLabels } from '#ui/src/kernel/form/form.ts';
import type { Problem } from '#ui/src/kernel/problem.ts';

interface Checked {
  /** Why saving would be refused. */
  readonly refusal?: Output<'preview.tool'>['refusal'];
  readonly findings: Output<'preview.tool'>['findings'];
  readonly lint?: Output<'preview.tool'>['lint'];
}

interface DraftCheckOptions<T> {
  /** Everything that the answer depends on. */
  readonly watch: () => unknown;
  /** Asks the server; undefined while there is nothing to ask. */
  readonly load: (signal: AbortSignal) => Promise<T | undefined>;
  readonly sql: () => string;
  /** Whose labels its sentences use. */
  readonly schema: FormSchema;
}

/** Names the stored record, so that a draft is not compared with what it replaces. */
export const ownId = (stored: { readonly id: string } | undefined) => (stored === undefined ? {} : { id: stored.id });

/** What the server thinks of a definition while it is written: what a model would see of it, or what is wrong with it. */
export function useDraftCheck<T extends Checked>(options: DraftCheckOptions<T>) {
  const [asked, setAsked] = createSignal({ sql: '' });
  const { presence, session } = useKernel();
  const check = createLiveCheck(async (signal) => {
    if (!session.may('preview.tool')) return undefined;
    const sql = options.sql();
    try {
      return await options.load(signal);
    } finally {
      await presence.released();
      if (!signal.aborted) setAsked({ sql });
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
    /** What lint finds in a field, or in what is below its path. */
    lint: (path: string): readonly LintFinding[] =>
      (check.data()?.lint ?? []).filter(({ field }) => field === path || field?.startsWith(`${path}.`) === true),
    problem,
    pending: check.pending,
    settle: check.settle,
    error: (path: string): string | undefined => errors().get(path),
    approved: () => (problem() === undefined ? check.data() : undefined),
    refused: () => {
      const found = problem();
      return found === undefined ? undefined : { problem: found, sql: asked().sql };
    },
    /** The places of a text that a refusal of its field, or a failure at run time, names. */
    faultsOf(field: string, text: string, failure?: string): Fault[] {
      const sentences = [errors().get(field), failure].filter((sentence) => sentence !== undefined);
      return sentences.flatMap((message) => {
        const place = text === '' ? undefined : placeInText(message, text);
        return place === undefined ? [] : [{ ...place, message }];
      });
    },
  };
}
