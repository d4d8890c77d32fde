import { For, Show } from 'solid-js';
import { ConnectionDraft, type DbType } from '#core/contract/definitions/connections.ts';
import type { Output } from '#core/contract/index.ts';
import { labelsIn } from '#core/contract/marks.ts';
import { Button } from '#ui/src/components/button.tsx';
import { Bullets } from '#ui/src/components/show/bullets.tsx';
import { useReadable } from '#ui/src/components/form/use-readable.ts';
import { Notice } from '#ui/src/components/notice.tsx';
import { duration } from '#ui/src/kernel/words.ts';
import { fieldsOf } from './connection-draft.ts';
import { hostLine, inFields, sshLabel, SUSPECT } from './words.ts';

const LABELS = labelsIn(ConnectionDraft.entries);

/** What a test came to, and what to do about it. `onSuspect` goes to the field that is likely wrong; `onSave` saves it as it is. */
export function TestResult(props: {
  result: Output<'connections.test'>;
  db_type: DbType;
  onSuspect?: (field: string) => void;
  onSave?: (() => void) | undefined;
  /** What the server is where the form says something else, and what came or can come of that. */
  kind?: { readonly sentence: string; readonly onChoose?: (() => void) | undefined } | undefined;
}) {
  const readable = useReadable(() => props.result);
  const warned = () => props.result.success && props.result.warnings.length > 0;
  const suspect = () => props.result.field ?? (props.result.code === undefined ? undefined : SUSPECT[props.result.code]);
  /** As the form of this kind of database calls it. */
  const called = (field: string) => {
    const words = fieldsOf(props.db_type)[field as 'host' | 'database' | 'password'];
    return words?.label ?? LABELS[field] ?? sshLabel(field) ?? field;
  };
  return (
    <Notice
      tone={props.result.success ? (props.result.warnings.length > 0 ? 'warning' : 'good') : 'bad'}
      title={props.result.success ? `Connected in ${duration(props.result.latency_ms)}` : 'Connection failed'}
      live
      action={
        <>
          <Show when={props.onSuspect && suspect()}>
            {(field) => (
              <Button size="small" onPress={() => props.onSuspect?.(field())}>
                Go to {called(field())}
              </Button>
            )}
          </Show>
          <Show when={(!props.result.success || warned()) && props.onSave}>
            {(save) => (
              <Button size="small" blocked={!readable()} onPress={() => save()()}>
                Save anyway
              </Button>
            )}
          </Show>
        </>
      }
    >
      <p>{props.result.success ? (props.result.server_version ?? props.result.message) : inFields(props.result.message)}</p>
      <Show when={props.kind}>
        {(kind) => (
          <p>
            {kind().sentence}{' '}
            <Show when={kind().onChoose}>
              {(choose) => (
                <Button size="small" onPress={() => choose()()}>
                  Change it
                </Button>
              )}
            </Show>
          </p>
        )}
      </Show>
      <Bullets of={props.result.hosts?.map(hostLine) ?? []} />
      <For each={props.result.limits}>
        {(limit) => (
          <p>
            Statements end after {limit.value}: {limit.name} of the {limit.source}.
          </p>
        )}
      </For>
      <Bullets of={props.result.warnings} />
      <Show when={warned() && props.onSave}>
        <p>The connection isn’t saved yet. Save it as it is, or change it first.</p>
      </Show>
    </Notice>
  );
}
