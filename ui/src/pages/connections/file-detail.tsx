import { createSignal, For, Show } from 'solid-js';
import * as v from 'valibot';
import type { Connection } from '#core/contract/definitions/connections.ts';
import type { ConnectionFile } from '#core/contract/definitions/files.ts';
import { type FileSettings, FolderSettings } from '#core/contract/definitions/file-settings.ts';
import { Button } from '#ui/src/components/button.tsx';
import { Switch } from '#ui/src/components/form/choice.tsx';
import { TextField } from '#ui/src/components/form/field.tsx';
import { Select } from '#ui/src/components/form/select.tsx';
import { LinkButton } from '#ui/src/components/link.tsx';
import { Notice } from '#ui/src/components/notice.tsx';
import { Panel } from '#ui/src/components/panel.tsx';
import { createMutation } from '#ui/src/kernel/data/mutation.ts';
import { useKernel } from '#ui/src/kernel/kernel.ts';
import { TableSample } from './table-sample.tsx';

const TYPES = ['VARCHAR', 'BIGINT', 'DOUBLE', 'DECIMAL(18,2)', 'DATE', 'TIMESTAMP', 'BOOLEAN'];
const DELIMITERS = [
  { value: '', label: 'Detect' },
  { value: ',', label: 'Comma' },
  { value: ';', label: 'Semicolon' },
  { value: '\t', label: 'Tab' },
  { value: '|', label: 'Bar' },
] as const;
const HEADERS = [
  { value: '', label: 'Detect' },
  { value: 'true', label: 'Column names' },
  { value: 'false', label: 'Values' },
] as const;
const ENCODINGS = [
  { value: '', label: 'Detect' },
  { value: 'utf-8', label: 'UTF-8' },
  { value: 'utf-16', label: 'UTF-16' },
  { value: 'latin-1', label: 'Latin-1' },
] as const;
const DECIMALS = [
  { value: '', label: '1,234.50' },
  { value: ',', label: '1.234,50' },
] as const;

/** What is in a file, and how it is read. */
export function FileDetail(props: { connection: Connection; file: ConnectionFile; onSaved: () => void }) {
  const { call, session, toasts } = useKernel();
  const all = (): FolderSettings => {
    const text = props.connection.extra_params['files'];
    try {
      return v.parse(FolderSettings, JSON.parse(typeof text === 'string' && text !== '' ? text : '{}'));
    } catch {
      return {};
    }
  };
  // What the form begins with; a save makes it anew.
  // oxlint-disable-next-line solid/reactivity
  const [draft, setDraft] = createSignal<FileSettings>(all()[props.file.key] ?? {});
  const set = (change: { [K in keyof FileSettings]: FileSettings[K] | undefined }) =>
    setDraft((before) =>
      Object.fromEntries(Object.entries({ ...before, ...change }).filter(([, value]) => value !== undefined && value !== '')),
    );
  /** Files of a pattern are one table; the key of the settings is the pattern then. */
  // oxlint-disable-next-line solid/reactivity
  const [pattern, setPattern] = createSignal(props.file.key.includes('*') ? props.file.key : '');
  const save = createMutation(async () => {
    const { [props.file.key]: _, ...others } = all();
    const files = { ...others, [pattern().trim() || props.file.name]: draft() };
    const kept = Object.fromEntries(
      Object.entries(files).filter(([key, value]) => key.includes('*') || Object.keys(value).length > 0),
    );
    const { id, version, extra_params } = props.connection;
    return call('connections.update', { id, version, extra_params: { ...extra_params, files: JSON.stringify(kept) } });
  });
  const press = async () => {
    if (pattern() !== '' && !fits(pattern(), props.file.name)) return;
    if ((await save.run(undefined)) === undefined) return;
    toasts.show('Saved. It is live with the next deploy.', 'good');
    props.onSaved();
  };
  const is_csv = () => /\.(?:csv|tsv)(?:\.gz)?$/i.test(props.file.name);
  const setType = (column: string, type: string) => {
    const { [column]: _, ...rest } = draft().types ?? {};
    const types = type === '' ? rest : { ...rest, [column]: type };
    set({ types: Object.keys(types).length === 0 ? undefined : types });
  };
  const options = (type: string) => [
    { value: '', label: `Detected (${type})` },
    ...TYPES.map((each) => ({ value: each, label: each })),
  ];

  return (
    <Panel title={props.file.name} lead={props.file.key === props.file.name ? undefined : `Part of ${props.file.key}`}>
      <div class="panel-body stack">
        <Show when={props.file.error}>
          {(error) => (
            <Notice tone="bad">
              {error().line === null ? '' : `Line ${error().line}: `}
              {error().message} {props.file.tables.length > 0 ? 'The last good table is still served.' : ''}
            </Notice>
          )}
        </Show>
        <For each={props.file.notes}>{(note) => <Notice tone="brass">{note}</Notice>}</For>
        <Show when={props.file.rejected_rows > 0}>
          <Notice tone="brass">
            <p>These lines were left out:</p>
            <ul>
              <For each={props.file.rejected}>
                {({ line, reason }) => (
                  <li>
                    Line {line}: {reason}
                  </li>
                )}
              </For>
            </ul>
          </Notice>
        </Show>
        <For each={props.file.tables}>
          {(table) => (
            <>
              <div class="row">
                <strong class="mono">{`${table.schema}.${table.name}`}</strong>
                <LinkButton
                  href={`/tools/new?connection=${props.connection.id}&table=${encodeURIComponent(`${table.schema}.${table.name}`)}`}
                  kind="primary"
                  icon="tool"
                >
                  Create a tool from this table
                </LinkButton>
              </div>
              <Show when={props.file.tables.length === 1 && session.may('connections.update')}>
                <div class="grid-2">
                  <For each={table.columns.slice(0, 60)}>
                    {(column) => (
                      <Select
                        label={column.name}
                        options={options(column.type)}
                        value={draft().types?.[column.name] ?? ''}
                        onChange={(type) => setType(column.name, type)}
                      />
                    )}
                  </For>
                </div>
              </Show>
              <Show when={session.may('preview.execute')}>
                <TableSample
                  connection_id={props.connection.id}
                  table={{ schema: table.schema, name: table.name, type: 'table', comment: null }}
                />
              </Show>
            </>
          )}
        </For>
        <Show when={session.may('connections.update')}>
          <Show when={is_csv()}>
            <div class="grid-2">
              <Select
                label="Delimiter"
                options={DELIMITERS}
                value={draft().delimiter ?? ''}
                onChange={(delimiter) => set({ delimiter: delimiter || undefined })}
              />
              <Select
                label="First line"
                options={HEADERS}
                value={draft().header === undefined ? '' : String(draft().header)}
                onChange={(header) => set({ header: header === '' ? undefined : header === 'true' })}
              />
              <Select
                label="Encoding"
                options={ENCODINGS}
                value={draft().encoding ?? ''}
                onChange={(encoding) => set({ encoding: encoding || undefined })}
              />
              <Select
                label="Numbers"
                options={DECIMALS}
                value={draft().decimal === ',' ? ',' : ''}
                onChange={(decimal) => set({ decimal: decimal || undefined })}
              />
              <TextField
                label="Dates"
                hint="Such as %d.%m.%Y; detected when empty."
                optional
                mono
                value={draft().dates ?? ''}
                onInput={(dates) => set({ dates: dates || undefined })}
              />
            </div>
          </Show>
          <Show when={!/\.(?:sqlite3?|db)$/i.test(props.file.name)}>
            <TextField
              label="One table of several files"
              hint={`A pattern with *, such as ${patternOf(props.file.name)}. Files that match become one table, with their names in the column filename.`}
              optional
              mono
              value={pattern()}
              error={
                pattern() !== '' && !fits(pattern(), props.file.name)
                  ? `The pattern needs a * and has to match ${props.file.name}.`
                  : undefined
              }
              onInput={setPattern}
            />
          </Show>
          <TextField
            label="Name of the table"
            hint="Made from the name of the file when empty."
            optional
            mono
            value={draft().table ?? ''}
            onInput={(table) => set({ table: table || undefined })}
          />
          <Switch
            label="Read every column as text"
            checked={draft().as_text === true}
            onChange={(as_text) => set({ as_text: as_text || undefined })}
          />
          <Show when={save.problem()}>{(problem) => <Notice tone="bad">{problem().detail}</Notice>}</Show>
          <div class="row">
            <Button kind="primary" busy={save.busy()} onPress={() => void press()}>
              Save how it is read
            </Button>
          </div>
        </Show>
      </div>
    </Panel>
  );
}

/** The part of a name that differs from file to file, most likely. */
const patternOf = (name: string): string =>
  /\d/.test(name) ? name.replace(/\d+(?:[-_.]\d+)*/, '*') : name.replace(/(\.[^/]+)?$/, '*$1');

const fits = (pattern: string, name: string): boolean => {
  const [first = '', ...rest] = pattern.trim().split('*');
  return rest.length > 0 && name.startsWith(first) && name.endsWith(rest.at(-1) ?? '');
};
