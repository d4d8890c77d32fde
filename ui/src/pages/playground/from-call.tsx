import { createEffect, Match, Switch } from 'solid-js';
import type { Members } from '#core/lib/view/table.ts';
import { Notice, ProblemNotice } from '#ui/src/components/notice.tsx';
import { useQuery } from '#ui/src/components/use-query.ts';
import { knownArguments, NO_ARGUMENTS } from '#ui/src/features/run/logged-arguments.ts';
import { exactTime } from '#ui/src/kernel/dates.ts';

/** Describes the logged call that is repeated, and passes on its arguments. */
export function FromCall(props: { id: string; onArguments: (name: string, values: Members) => void }) {
  const detail = useQuery((read) => read('logs.get', { call_id: props.id }));
  createEffect(() => {
    const of = detail.data();
    const known = of === undefined ? undefined : knownArguments(of);
    if (of !== undefined && known !== undefined) props.onArguments(of.name, known.values);
  });
  const sentence = () => {
    const of = detail.data();
    if (of === undefined) return undefined;
    const known = knownArguments(of);
    if (known === undefined) {
      const why = of.arguments_state === 'logged' ? 'not_logged' : of.arguments_state;
      return of.kind === 'tool' ? `${NO_ARGUMENTS[why]} Enter the arguments of the new call.` : undefined;
    }
    const filled = `The arguments of the call at ${exactTime(of.timestamp)} are filled in`;
    if (known.missing.length === 0) return `${filled}.`;
    return `${filled}, without ${known.missing.join(', ')}. Masked and very large values are not stored.`;
  };
  return (
    <Switch>
      <Match when={sentence()}>{(text) => <Notice tone="plain">{text()}</Notice>}</Match>
      <Match when={detail.problem()}>{(problem) => <ProblemNotice problem={problem()} />}</Match>
    </Switch>
  );
}
