import { createSignal, Show } from 'solid-js';
import { Button } from '#ui/src/components/button.tsx';
import { FileDrop } from '#ui/src/components/form/file-drop.tsx';
import { Page } from '#ui/src/components/page.tsx';
import { Panel } from '#ui/src/components/panel.tsx';
import { useCommands, useKernel } from '#ui/src/kernel/kernel.ts';
import { createMutation } from '#ui/src/kernel/data/mutation.ts';
import { toProblem } from '#ui/src/kernel/problem.ts';
import { type ExportFile, exportName, readExport } from './transfer-file.ts';
import { saveFile } from '#ui/src/kernel/save-file.ts';
import { clientName } from '#core/client/client-texts.ts';
import { ImportPanel } from './import-panel.tsx';
import './transfer.css';

/** The configuration as a file, out and in. */
export function Transfer() {
  const { call, toasts } = useKernel();
  const [file, setFile] = createSignal<ExportFile>();
  const [refused, setRefused] = createSignal<string>();

  const exporting = createMutation(async () => {
    const data = await call('transfer.export', {});
    const server = data.server_config['server_name'];
    const name = exportName(clientName(typeof server === 'string' ? server : ''), data.exported_at);
    saveFile(name, 'application/json', `${JSON.stringify(data, null, 2)}\n`);
    return name;
  });
  const save = async () => {
    const name = await exporting.run(undefined);
    const problem = exporting.problem();
    if (name !== undefined) toasts.show(`Saved ${name}.`, 'good');
    else if (problem !== undefined) toasts.show(problem.detail, 'bad');
  };
  const take = async (chosen: File) => {
    try {
      const answer = readExport(chosen.name, await chosen.text());
      setRefused(answer.ok ? undefined : answer.reason);
      setFile(answer.ok ? answer.file : undefined);
    } catch (fault) {
      setRefused(toProblem(fault).detail);
    }
  };
  useCommands([
    { id: 'export', title: 'Export the configuration', group: 'Server', keywords: 'download backup', run: () => void save() },
  ]);

  return (
    <Page title="Import and export" lead="The whole configuration as one JSON file.">
      <div class="page-columns transfer">
        <Panel title="Export">
          <p class="soft small">Connections, tools, resources, prompts, toolsets, tests and settings. Secrets are left out.</p>
          <div class="row">
            <Button icon="download" busy={exporting.busy()} onPress={() => void save()}>
              Download configuration
            </Button>
          </div>
        </Panel>
        <Panel
          title="Import"
          actions={
            <Show when={file()}>
              <Button size="small" onPress={() => setFile(undefined)}>
                Choose another file
              </Button>
            </Show>
          }
        >
          <Show
            when={file()}
            keyed
            fallback={
              <FileDrop
                label="Drop an export here, or choose a file"
                accept="application/json,.json"
                hint="You review the changes before anything is written."
                error={refused()}
                onFile={(chosen) => void take(chosen)}
              />
            }
          >
            {(chosen) => <ImportPanel file={chosen} />}
          </Show>
        </Panel>
      </div>
    </Page>
  );
}
