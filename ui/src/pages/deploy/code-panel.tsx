import { createMemo, createSignal, For, Show } from 'solid-js';
import { Button } from '#ui/src/components/button.tsx';
import { CopyButton } from '#ui/src/components/show/code-block.tsx';
import { EmptyState } from '#ui/src/components/empty-state.tsx';
import { Aging } from '#ui/src/components/show/aging.tsx';
import { createRoving } from '#ui/src/components/table/roving.ts';
import { Select } from '#ui/src/components/form/select.tsx';
import { useQuery } from '#ui/src/components/use-query.ts';
import { Loaded } from '#ui/src/components/show/loaded.tsx';
import { toFolders, tokensOf } from './code.ts';
import { zip } from './zip.ts';
import { saveFile } from '#ui/src/kernel/save-file.ts';

/** No toolset has this name. */
const EVERYTHING = '';

/** The project that does without Sluice what a version does with it. */
export function CodePanel(props: { version: number; active: number | null; onVersion: (version: number) => void }) {
  const [chosen, setChosen] = createSignal<string>();
  const [toolset, setToolset] = createSignal(EVERYTHING);
  const shown = () => (props.version > 0 ? props.version : props.active);
  const versions = useQuery((read) => read('snapshots.list', { limit: 100 }), { watch: () => props.active });
  const code = useQuery(
    (read) => {
      const version = shown();
      const only = toolset() === EVERYTHING ? {} : { toolset: toolset() };
      return read('server.generated', version === null ? only : { snapshot: version, ...only });
    },
    { watch: () => [shown(), toolset()] },
  );
  const files = () => code.data()?.files ?? [];
  const folders = createMemo(() => toFolders(files()));
  const file = createMemo(
    () => files().find(({ path }) => path === chosen()) ?? files().find(({ path }) => path === 'README.md') ?? files()[0],
  );
  const tokens = createMemo(() => {
    const current = file();
    return current === undefined ? [] : tokensOf(current);
  });
  const roving = createRoving('.code-file', folders);
  const saveAll = () =>
    saveFile(
      `sluice-v${code.data()?.snapshot_version ?? 0}${toolset() === EVERYTHING ? '' : `-${toolset()}`}.zip`,
      'application/zip',
      zip(files()),
    );

  return (
    <Loaded
      of={code}
      rows={5}
      label="Loading the code"
      gone={
        <EmptyState framed icon="braces" title="Nothing deployed yet">
          <p>The first deploy generates a project that runs without Sluice.</p>
        </EmptyState>
      }
    >
      {(project) => (
        <div class="stack">
          <div class="spread code-head">
            <p class="soft small">This version as a TypeScript project that runs without Sluice.</p>
            <div class="row">
              <Select
                label="Version"
                hide_label
                size="small"
                options={(versions.data()?.items ?? []).map(({ version, active }) => ({
                  value: String(version),
                  label: `Version ${version}${active ? ', live' : ''}`,
                }))}
                value={String(shown() ?? '')}
                onChange={(version) => {
                  setToolset(EVERYTHING);
                  props.onVersion(Number(version));
                }}
              />
              <Show when={project().toolsets.length > 0}>
                <Select
                  label="Toolset"
                  hide_label
                  size="small"
                  options={[
                    { value: EVERYTHING, label: 'All tools' },
                    ...project().toolsets.map((name) => ({ value: name, label: name })),
                  ]}
                  value={toolset()}
                  onChange={setToolset}
                />
              </Show>
              <Button size="small" icon="download" onPress={saveAll}>
                Download all
              </Button>
            </div>
          </div>
          <Aging of={code}>
            <div class="stack code-view" data-gap="3">
              <nav class="code-tree" aria-label="Files" {...roving}>
                <For each={folders()}>
                  {(folder) => (
                    <>
                      <Show when={folder.path !== ''}>
                        <p class="code-folder mono">{folder.path}/</p>
                      </Show>
                      <ul>
                        <For each={folder.files}>
                          {(entry) => (
                            <li>
                              <button
                                type="button"
                                class="code-file mono"
                                data-inside={folder.path === '' ? undefined : 'true'}
                                aria-current={file()?.path === entry.path ? 'true' : undefined}
                                onClick={() => setChosen(entry.path)}
                              >
                                {entry.name}
                              </button>
                            </li>
                          )}
                        </For>
                      </ul>
                    </>
                  )}
                </For>
              </nav>
              <Show when={file()}>
                {(current) => (
                  <div class="code-file-view">
                    <div class="spread code-file-head">
                      <span class="mono small truncate">{current().path}</span>
                      <span class="row">
                        <CopyButton text={current().content} label={current().path} />
                        <Button
                          kind="quiet"
                          size="small"
                          icon="download"
                          onPress={() => saveFile(current().path.split('/').at(-1) ?? 'file', 'text/plain', current().content)}
                        >
                          Download file
                        </Button>
                      </span>
                    </div>
                    <pre class="code-text" tabindex="0" role="group" aria-label={current().path}>
                      <code>
                        <For each={tokens()}>{(token) => <span data-kind={token.kind}>{token.text}</span>}</For>
                      </code>
                    </pre>
                  </div>
                )}
              </Show>
            </div>
          </Aging>
        </div>
      )}
    </Loaded>
  );
}
