import { createSignal, createUniqueId, type JSX } from 'solid-js';
import { FieldNotes } from './field.tsx';
import { Icon } from '#ui/src/components/icon.tsx';

/** A drop target for files that is also a button for the system's file dialog. */
export function FileDrop(props: {
  label: string;
  accept?: string;
  hint?: JSX.Element;
  error?: string | undefined;
  /** Accepts several files; `onFile` is called for each. */
  multiple?: boolean;
  onFile: (file: File) => void;
}) {
  const id = createUniqueId();
  const [over, setOver] = createSignal(false);
  const take = (files: FileList | null | undefined) => {
    for (const file of [...(files ?? [])].slice(0, props.multiple === true ? undefined : 1)) props.onFile(file);
  };
  return (
    <div class="field">
      <label
        class="file-drop"
        data-over={over() ? 'true' : undefined}
        onDragOver={(event) => {
          event.preventDefault();
          setOver(true);
        }}
        onDragLeave={() => setOver(false)}
        onDrop={(event) => {
          event.preventDefault();
          setOver(false);
          take(event.dataTransfer?.files);
        }}
      >
        <Icon name="upload" size={20} />
        <span>{props.label}</span>
        <input
          type="file"
          class="visually-hidden"
          accept={props.accept}
          multiple={props.multiple === true}
          onChange={(event) => {
            take(event.currentTarget.files);
            event.currentTarget.value = '';
          }}
        />
      </label>
      <FieldNotes id={id} hint={props.hint} error={props.error} />
    </div>
  );
}
