import { createMemo, createSignal, For, Match, Show, Switch } from 'solid-js';
import type { Connection } from '#core/contract/definitions/connections.ts';
import type { ConnectionFile, ConnectionFiles } from '#core/contract/definitions/files.ts';
import { Badge } from '#ui/src/components/badge.tsx';
import { Button } from '#ui/src/components/button.tsx';
import { EmptyState } from '#ui/src/components/empty-state.tsx';
import { FileDrop } from '#ui/src/components/form/file-drop.tsx';
import { Panel } from '#ui/src/components/panel.tsx';
import { type Column, DataTable } from '#ui/src/components/table/data-table.tsx';
import { Ago } from '#ui/src/components/time.tsx';
import { usePoll, useQuery } from '#ui/src/components/use-query.ts';
import { useAct } from '#ui/src/components/use-act.ts';
import { useKernel } from '#ui/src/kernel/kernel.ts';
import { num } from '#ui/src/kernel/numbers.ts';
import { bytes, plural } from '#ui/src/kernel/words.ts';
import { isFolder } from './connection-draft.ts';
import { FileDetail } from './file-detail.tsx';
import { createUploads } from './uploads.ts';

const KINDS = '.csv,.tsv,.parquet,.json,.jsonl,.ndjson,.gz,.sqlite,.db';
const FOLDER_HINT = 'CSV, Parquet, JSON and SQLite files, each of them a table';
const POLL_MS = 3_000;

/** The files of a folder with their status, and a drop target for more. */
export function FilesPanel(props: { connection: Connection; onSaved: () => void }) {
  const { cache, call, dialogs, router, session, toasts } = useKernel();
  const { ask } = useAct();
  const files = useQuery((read) => read('files.list', { id: props.connection.id }));
  const uploads = createUploads(
    () => props.connection.id,
    () => files.reload(),
  );
  const [chosen, setChosen] = createSignal<string>();
  /** Asks first when another file has unsaved changes. */
  const choose = async (name: string) => {
    if (name !== chosen() && (await router.mayLeave())) setChosen(name);
  };
  usePoll(async () => {
    if (files.data()?.reading !== true) return;
    await files.reload();
    // The tables are complete once reading has finished.
    if (files.data()?.reading === false) cache.invalidate('schema');
  }, POLL_MS);

  const is_folder = () => isFolder(props.connection);
  /** A SQLite connection is one file: an upload with another name replaces it. */
  const replace = async (file: File) => {
    const current = files.data()?.items[0]?.name;
    if (current === undefined) {
      toasts.show('The file list isn’t loaded yet. Try again.', 'bad');
      return;
    }
    const agreed = await dialogs.confirm({
      title: `Replace “${current}” with “${file.name}”?`,
      text: 'Tools use the new database from their next call on. Data written to the old one is lost. This cannot be undone.',
      action: 'Replace database',
      danger: true,
    });
    if (agreed) uploads.add(file, current);
  };
  const remove = ({ name, tables }: ConnectionFile) => {
    const { id } = props.connection;
    const question = {
      title: `Delete the file “${name}”?`,
      text: 'Its table is deleted too, and tools that read it fail. This cannot be undone.',
      goes: tables.map((table) => `The table ${table.name}`),
      action: 'Delete file',
    };
    return ask(question, () => call('files.delete', { id, name }), `Deleted “${name}”.`);
  };
  const found = createMemo(() => files.data()?.items.find(({ name }) => name === chosen()));

  return (
    <div class="stack">
      <Show when={session.may('files.upload')}>
        <FileDrop
          label={
            is_folder() ? 'Drop files here, or choose them' : 'Drop a SQLite file here to replace the database, or choose one'
          }
          accept={is_folder() ? KINDS : '.sqlite,.sqlite3,.db'}
          multiple={is_folder()}
          hint={
            <Show when={files.data()} fallback={`${is_folder() ? FOLDER_HINT : 'A SQLite file'}.`}>
              {(list) => (
                <>
                  {is_folder()
                    ? `${FOLDER_HINT}, up to ${bytes(list().max_file_bytes)} each. ${bytes(list().bytes)} of ${bytes(list().quota_bytes)} are used.`
                    : `A SQLite file, up to ${bytes(list().max_file_bytes)}.`}
                </>
              )}
            </Show>
          }
          onFile={(file) => (is_folder() ? uploads.add(file) : void replace(file))}
        />
        <ul aria-live="polite">
          <For each={uploads.shown()}>
            {(upload) => (
              <li class="row">
                <span class="mono">{upload.name}</span>
                <span class="small" data-tone={upload.state === 'failed' ? 'bad' : undefined}>
                  {upload.detail}
                </span>
                <Show when={upload.state === 'failed'}>
                  <Button size="small" onPress={() => uploads.add(upload.file, upload.name)}>
                    Try again
                  </Button>
                  <Button size="small" kind="quiet" onPress={() => uploads.dismiss(upload.name)}>
                    Dismiss
                  </Button>
                </Show>
              </li>
            )}
          </For>
          <Show when={uploads.waiting() > 0}>
            <li class="small">{plural(uploads.waiting(), 'more file')} to upload</li>
          </Show>
        </ul>
      </Show>
      <Panel
        title="Files"
        count={files.data()?.total}
        lead={files.data()?.reading === true ? readingOf(files.data()?.progress) : undefined}
        flush
      >
        <DataTable
          label="Files"
          rows={files.data()?.items}
          query={files}
          key={({ name }) => name}
          current={({ name }) => name === chosen()}
          {...(is_folder() ? { onOpen: ({ name }: ConnectionFile) => void choose(name) } : {})}
          columns={[
            {
              id: 'name',
              head: 'File',
              sort: ({ name }) => name,
              cell: (file) => <span class="mono">{file.name}</span>,
            },
            ...(is_folder() ? TABLE_COLUMNS : []),
            { id: 'size', head: 'Size', narrow: 'hide', num: (file) => file.bytes, as: bytes },
            ...(is_folder() ? [STATE_COLUMN] : []),
          ]}
          actions={(file) => (
            <Show when={is_folder()}>
              <Button
                needs="files.delete"
                kind="quiet"
                size="small"
                shape="icon"
                icon="trash"
                label={`Delete ${file.name}`}
                onPress={() => remove(file)}
              />
            </Show>
          )}
          empty={<EmptyState icon="file" title="No files yet. Drop some above." />}
        />
      </Panel>
      {/* Unsaved input for a file survives a reload of the list. */}
      <Show when={found()?.name} keyed>
        {(_) => (
          <Show when={found()}>
            {(file) => <FileDetail connection={props.connection} file={file()} onSaved={props.onSaved} />}
          </Show>
        )}
      </Show>
    </div>
  );
}

const readingOf = (progress: ConnectionFiles['progress'] | undefined): string =>
  progress
    ? `Reading ${progress.key ?? 'files'}… ${num(progress.done)} of ${plural(progress.of, 'changed file')} read.`
    : 'Reading changed files…';

const tablesOf = ({ tables }: ConnectionFile): string =>
  tables.length > 3
    ? plural(tables.length, 'table')
    : tables.map(({ schema, name }) => (schema === 'main' ? name : `${schema}.${name}`)).join(', ');

const TABLE_COLUMNS: readonly Column<ConnectionFile>[] = [
  { id: 'tables', head: 'Table', cell: (file) => <span class="mono">{tablesOf(file)}</span> },
  { id: 'rows', head: 'Rows', align: 'end', narrow: 'hide', cell: (file) => (file.tables.length === 0 ? '' : num(rowsOf(file))) },
];
const STATE_COLUMN: Column<ConnectionFile> = { id: 'state', head: 'State', cell: (file) => <State file={file} /> };

const rowsOf = ({ tables }: ConnectionFile): number => tables.reduce((sum, { rows }) => sum + rows, 0);

function State(props: { file: ConnectionFile }) {
  return (
    <Switch fallback={<Badge>Not read yet</Badge>}>
      <Match when={props.file.error}>
        {(error) => (
          <span title={error().message}>
            <Badge tone="bad">{error().line === null ? 'can’t be read' : `can’t be read (line ${error().line})`}</Badge>
          </span>
        )}
      </Match>
      <Match when={props.file.imported_at}>
        {(at) => (
          <span class="small">
            imported <Ago iso={at()} />
            <Show when={props.file.rejected_rows > 0}>
              {' '}
              <Badge tone="warning">{plural(props.file.rejected_rows, 'line')} skipped</Badge>
            </Show>
            <Show when={props.file.notes.length > 0}>
              {' '}
              <span title={props.file.notes.join(' ')}>
                <Badge tone="warning">{plural(props.file.notes.length, 'note')}</Badge>
              </span>
            </Show>
            <Show when={props.file.offers.length > 0}>
              {' '}
              <Badge tone="info">{plural(props.file.offers.length, 'suggestion')}</Badge>
            </Show>
          </span>
        )}
      </Match>
    </Switch>
  );
}
