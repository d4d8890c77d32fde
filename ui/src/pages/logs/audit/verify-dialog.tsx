import { createSignal, Show } from 'solid-js';
import type { Output } from '#core/contract/index.ts';
import { Button } from '#ui/src/components/button.tsx';
import { Dialog } from '#ui/src/components/dialog.tsx';
import { TextArea } from '#ui/src/components/form/field.tsx';
import { Notice } from '#ui/src/components/notice.tsx';
import { useAct } from '#ui/src/components/use-act.ts';
import { useKernel } from '#ui/src/kernel/kernel.ts';
import { plural } from '#ui/src/kernel/words.ts';

const JWS = /[\w-]{10,}\.[\w-]{10,}\.[\w-]{10,}/g;

/** Checks the whole log, also against heads that a webhook or a syslog server stored. */
export function VerifyDialog(props: { open: boolean; onClose: () => void }) {
  const { call } = useKernel();
  const { act } = useAct();
  const [heads, setHeads] = createSignal('');
  const [report, setReport] = createSignal<Output<'audit.verify'>>();
  const verify = () => {
    const given = [...new Set(heads().match(JWS))];
    return act(() => call('audit.verify', { heads: given }).then(setReport));
  };
  return (
    <Dialog
      open={props.open}
      title="Verify the audit log"
      lead="Checks every entry against its hash and the entry before it."
      onClose={() => {
        setReport(undefined);
        props.onClose();
      }}
      foot={
        <Button kind="primary" onPress={() => void verify()}>
          Verify
        </Button>
      }
    >
      <div class="stack">
        <TextArea
          label="Signed heads"
          optional
          mono
          rows={4}
          value={heads()}
          onInput={setHeads}
          hint="Paste heads that a webhook, syslog or OTLP stored elsewhere. Only they show that entries were rewritten or cut off."
        />
        <Show when={report()}>
          {(found) => (
            <Notice
              live
              tone={found().ok ? 'good' : 'bad'}
              title={found().ok ? 'The audit log is as it was written' : `Entry ${found().first_bad} is bad`}
            >
              <p>
                {found().reason ??
                  `${plural(found().entries, 'entry', 'entries')} and ${plural(found().heads, 'signed head')} checked.`}
              </p>
            </Notice>
          )}
        </Show>
      </div>
    </Dialog>
  );
}
