import { For } from 'solid-js';
import { Button } from '#ui/src/components/button.tsx';
import { CopyButton } from '#ui/src/components/show/code-block.tsx';
import { DialogOf } from '#ui/src/components/dialog-of.tsx';
import { codesText } from './account-device.ts';
import { useKernel } from '#ui/src/kernel/kernel.ts';
import { saveFile } from '#ui/src/kernel/save-file.ts';

/** Recovery codes, shown this once. */
export function CodesDialog(props: { codes: readonly string[] | undefined; onClose: () => void }) {
  const { session } = useKernel();
  const save = (codes: readonly string[]) =>
    saveFile(
      'recovery-codes.txt',
      'text/plain',
      codesText(window.location.host, session.username(), codes, new Date().toISOString()),
    );
  return (
    <DialogOf
      of={props.codes}
      once
      title="Recovery codes"
      lead="If you lose access to the app, each code signs you in once. Store the codes in a safe place: they are shown only once."
      onClose={props.onClose}
      foot={
        <Button kind="primary" onPress={props.onClose}>
          I have saved them
        </Button>
      }
    >
      {(codes) => (
        <div class="stack">
          <ol class="recovery-codes mono" aria-label="Recovery codes">
            <For each={codes}>{(code) => <li>{code}</li>}</For>
          </ol>
          <div class="row">
            <CopyButton text={codes.join('\n')} label="the recovery codes" kind="plain" />
            <Button size="small" icon="download" onPress={() => save(codes)}>
              Download
            </Button>
            <Button size="small" icon="file" onPress={() => window.print()}>
              Print
            </Button>
          </div>
        </div>
      )}
    </DialogOf>
  );
}
