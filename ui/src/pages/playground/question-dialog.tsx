import { createEffect, on, Show } from 'solid-js';
import { Button } from '#ui/src/components/button.tsx';
import { Dialog } from '#ui/src/components/dialog.tsx';
import { useReadable } from '#ui/src/components/form/use-readable.ts';
import { ArgumentForm } from '#ui/src/features/run/argument-form.tsx';
import { MAY_WRITE } from '#ui/src/features/run/questions.ts';
import { useArguments } from '#ui/src/features/run/use-arguments.ts';
import type { OpenQuestion } from './state.ts';

/** A tool's question during its call, with the server's text: a write confirmation, or missing arguments. */
export function QuestionDialog(props: { question: OpenQuestion | undefined }) {
  let form: HTMLFormElement | undefined;
  const fields = () => props.question?.fields ?? [];
  const entries = useArguments(fields);
  const question = () => props.question;
  const readable = useReadable(question);
  createEffect(on(question, () => entries.begin({})));
  const answer = (event?: Event) => {
    event?.preventDefault();
    if (!readable()) return;
    const reply = fields().length === 0 ? MAY_WRITE : entries.given(form);
    if (reply !== undefined) props.question?.answer(reply);
  };

  return (
    <Dialog
      open={props.question !== undefined}
      title={fields().length === 0 ? 'Confirm this change' : 'Missing arguments'}
      alert
      size="small"
      onClose={() => props.question?.answer(null)}
      foot={
        <>
          <Button autofocus={fields().length === 0} onPress={() => props.question?.answer(false)}>
            Decline
          </Button>
          <Button kind="primary" blocked={!readable()} onPress={() => answer()}>
            {props.question?.yes ?? 'Confirm'}
          </Button>
        </>
      }
    >
      <p>{props.question?.message}</p>
      <Show when={fields().length > 0}>
        <form ref={(element) => (form = element)} novalidate onSubmit={answer}>
          <ArgumentForm parameters={fields()} described entered={entries.texts()} onInput={entries.write} error={entries.error} />
        </form>
      </Show>
    </Dialog>
  );
}
