import { capital } from '#ui/src/kernel/words.ts';
import { newToolHref } from '#ui/src/features/builder/sql/table-address.ts';
import { createSignal, For, Show, untrack } from 'solid-js';
import * as v from 'valibot';
import type { Connection } from '#core/contract/definitions/connections.ts';
import type { ConnectionFile } from '#core/contract/definitions/files.ts';
import { FileSettings, FolderSettings, Thousands } from '#core/contract/definitions/file-settings.ts';
import { matcherOf } from '#core/lib/wildcards.ts';
import { Button } from '#ui/src/components/button.tsx';
import { Switch } from '#ui/src/components/form/choice.tsx';
import { TextField } from '#ui/src/components/form/field.tsx';
import { focusInvalid } from '#ui/src/components/form/focus-invalid.ts';
import { Select } from '#ui/src/components/form/select.tsx';
import { TagsField } from '#ui/src/components/form/tags-field.tsx';
import { LinkButton } from '#ui/src/components/link.tsx';
import { Notice } from '#ui/src/components/notice.tsx';
import { Panel } from '#ui/src/components/panel.tsx';
import { useLeaveGuard } from '#ui/src/components/form/use-leave-guard.ts';
import { createMutation } from '#ui/src/kernel/data/mutation.ts';
import { same } from '#ui/src/kernel/form/merge.ts';
import { parseJson } from '#ui/src/kernel/json.ts';
import { useKernel } from '#ui/src/kernel/kernel.ts';
import { FileOffers, NUMBERS_WRITTEN, type OfferChoices } from './file-offers.tsx';
import { TableSample } from './table-sample.tsx';

/** A column is read as a type, or as numbers with thousands separators. */
const TYPES = ['VARCHAR', 'BIGINT', 'DOUBLE', 'DECIMAL(18,2)', 'DATE', 'TIMESTAMP', 'BOOLEAN'];
const NUMBERS = 'numbers ';
const COLUMN_TYPES = [
  ...TYPES.map((type) => ({ value: type, label: type })),
  ...Thousands.options.map((thousands) => ({
    value: `${NUMBERS}${thousands}`,
    label: `Numbers such as ${NUMBERS_WRITTEN[thousands]}`,
  })),
];
const DELIMITERS = [
  { value: '', label: 'Detect' },
  { value: ',', label: 'Comma' },
  { value: ';', label: 'Semicolon' },
  { value: '\t', label: 'Tab' },
  { value: '|', label: 'Pipe' },
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
  { value: '', label: 'Detect' },
  { value: '.', label: '1,234.50' },
  { value: ',', label: '1.234,50' },
] as const;

const MOST_COLUMNS = 60;

/** What is in a file, and how it is read. */
export function FileDetail(props: { connection: Connection; file: ConnectionFile; onSaved: () => void }) {
  const { call, session, toasts } = useKernel();
  const all = (): FolderSettings => {
    const text = props.connection.extra_params['files'];
    const found = v.safeParse(FolderSettings, typeof text === 'string' ? parseJson(text) : undefined);
    return found.success ? found.output : {};
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
  const current = () => ({ draft: draft(), pattern: pattern() });
  const [base, setBase] = createSignal(untrack(current));
  const save = createMutation(async (edited: ReturnType<typeof current>) => {
    const { [props.file.key]: _, ...others } = all();
    const files = { ...others, [edited.pattern.trim() || props.file.name]: edited.draft };
    const stored = Object.fromEntries(
      Object.entries(files).filter(([key, value]) => key.includes('*') || Object.keys(value).length > 0),
    );
    const { id, version, extra_params } = props.connection;
    return call('connections.update', { id, version, extra_params: { ...extra_params, files: JSON.stringify(stored) } });
  });
  let foot: HTMLElement | undefined;
  const [attempted, setAttempted] = createSignal(false);
  /** What is wrong with the settings, by field, once somebody tried to save them. */
  const faults = (): Readonly<Record<string, string>> => {
    const { issues } = v.safeParse(FileSettings, draft());
    const found = (issues ?? []).map(({ path, message }) => [String(path?.[0].key), `${capital(message)}.`]);
    return attempted() ? Object.fromEntries(found) : {};
  };
  const press = async () => {
    setAttempted(true);
    if (Object.keys(faults()).length > 0 || (pattern() !== '' && !fits(pattern(), props.file.name))) {
      void focusInvalid(foot?.closest('.panel'));
      return;
    }
    const edited = current();
    const saved = await save.run(edited);
    if (saved === undefined) {
      // Another save is sent with what is stored by now.
      if (is_conflict()) props.onSaved();
      return;
    }
    setBase(edited);
    toasts.show('Saved. It goes live with the next deploy.', 'good');
    props.onSaved();
  };
  const is_conflict = () => save.problem()?.code === 'conflict';
  useLeaveGuard(() => (same(current(), base()) || save.busy() ? undefined : 'Changes to these file settings are not saved.'));
  const is_csv = () => /\.(?:csv|tsv)(?:\.gz)?$/i.test(props.file.name);
  const typeOf = ({ types, thousands }: FileSettings, column: string): string => {
    const separator = thousands?.[column];
    return separator === undefined ? (types?.[column] ?? '') : `${NUMBERS}${separator}`;
  };
  const is_set = (column: string) => [draft(), base().draft].some((settings) => typeOf(settings, column) !== '');
  const setType = (column: string, type: string) => {
    const { [column]: _type, ...types } = draft().types ?? {};
    const { [column]: _separator, ...thousands } = draft().thousands ?? {};
    const separator = Thousands.options.find((each) => type === `${NUMBERS}${each}`);
    if (separator !== undefined) thousands[column] = separator;
    else if (type !== '') types[column] = type;
    set({ types: filled(types), thousands: filled(thousands) });
  };
  /** Takes suggestions, and saves them. */
  const take = (choices: OfferChoices) => {
    for (const [column, choice] of Object.entries(choices)) {
      if (choice === 'leave out') set({ leave_out: [...new Set([...(draft().leave_out ?? []), column])] });
      else setType(column, choice === 'text' ? 'VARCHAR' : `${NUMBERS}${choice}`);
    }
    return press();
  };
  /** The type of a column that has one set is not a detected one. */
  const options = (name: string, type: string) => [
    { value: '', label: is_set(name) ? 'Detect' : `Detected (${type})` },
    ...COLUMN_TYPES,
  ];

  return (
    <Panel title={props.file.name} lead={props.file.key === props.file.name ? undefined : `Part of ${props.file.key}`}>
      <Show when={props.file.error}>
        {(error) => (
          <Notice tone="bad">
            {error().line === null ? '' : `Line ${error().line}: `}
            {error().message} {props.file.tables.length > 0 ? 'The last good table is still served.' : ''}
          </Notice>
        )}
      </Show>
      <For each={props.file.notes}>{(note) => <Notice tone="warning">{note}</Notice>}</For>
      <Show when={session.may('connections.update')}>
        <FileOffers offers={props.file.offers} busy={save.busy()} onTake={(choices) => void take(choices)} />
      </Show>
      <Show when={props.file.rejected_rows > 0}>
        <Notice tone="warning">
          <p>Skipped lines:</p>
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
              <LinkButton href={newToolHref(props.connection.id, table)} kind="primary" icon="tool">
                Create a tool from this table
              </LinkButton>
            </div>
            <Show when={props.file.tables.length === 1 && session.may('connections.update')}>
              <div class="grid-2">
                <For each={table.columns.slice(0, MOST_COLUMNS)}>
                  {(column) => (
                    <Select
                      label={column.name}
                      options={options(column.name, column.type)}
                      value={typeOf(draft(), column.name)}
                      onChange={(type) => setType(column.name, type)}
                    />
                  )}
                </For>
              </div>
              <Show when={table.columns.length > MOST_COLUMNS}>
                <p class="small soft">{`The first ${MOST_COLUMNS} of ${table.columns.length} columns are shown.`}</p>
              </Show>
            </Show>
            <Show when={session.may('preview.execute')}>
              <TableSample connection_id={props.connection.id} table={table} />
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
              value={draft().decimal ?? ''}
              onChange={(decimal: '' | '.' | ',') => set({ decimal: decimal || undefined })}
            />
            <TextField
              label="Date format"
              hint="For example %d.%m.%Y. Leave empty to detect it."
              optional
              mono
              value={draft().dates ?? ''}
              error={faults()['dates']}
              onInput={(dates) => set({ dates: dates || undefined })}
            />
            <TagsField
              label="Columns to leave out"
              optional
              value={draft().leave_out ?? []}
              onChange={(columns) => set({ leave_out: columns.length === 0 ? undefined : [...columns] })}
              suggestions={props.file.tables.flatMap(({ columns }) => columns.map(({ name }) => name))}
            />
          </div>
        </Show>
        <Show when={!/\.(?:sqlite3?|db)$/i.test(props.file.name)}>
          <TextField
            label="Combine files into one table"
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
          label="Table name"
          hint="Leave empty to use the file name."
          optional
          mono
          value={draft().table ?? ''}
          error={faults()['table']}
          onInput={(table) => set({ table: table || undefined })}
        />
        <Switch
          label="Read every column as text"
          checked={draft().as_text === true}
          onChange={(as_text) => set({ as_text: as_text || undefined })}
        />
        <Show when={save.problem()}>
          {(problem) => (
            <Notice tone="bad" live>
              {is_conflict() ? 'This connection changed. Save again to apply your settings.' : problem().detail}
            </Notice>
          )}
        </Show>
        <div
          class="row"
          ref={(element) => {
            foot = element;
          }}
        >
          <Button kind="primary" busy={save.busy()} onPress={() => void press()}>
            Save file settings
          </Button>
        </div>
      </Show>
    </Panel>
  );
}

/** A setting without entries is not set. */
const filled = <T extends object>(record: T): T | undefined => (Object.keys(record).length === 0 ? undefined : record);

/** The part of a name that differs from file to file, most likely. */
const patternOf = (name: string): string =>
  /\d/.test(name) ? name.replace(/\d+(?:[-_.]\d+)*/, '*') : name.replace(/(\.[^/]+)?$/, '*$1');

const fits = (pattern: string, name: string): boolean => pattern.includes('*') && matcherOf(pattern.trim())(name);
