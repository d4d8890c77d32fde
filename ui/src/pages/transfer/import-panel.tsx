import { createEffect, createSignal, Match, on, Show, Switch } from 'solid-js';
import type { ImportReport } from '#core/contract/transfer.ts';
import { Button } from '#ui/src/components/button.tsx';
import { RadioCards, Switch as Toggle } from '#ui/src/components/form/choice.tsx';
import { Icon } from '#ui/src/components/icon.tsx';
import { LinkButton } from '#ui/src/components/link.tsx';
import { Failed, Notice, ProblemNotice } from '#ui/src/components/notice.tsx';
import { Bullets } from '#ui/src/components/show/bullets.tsx';
import { WorkProgress } from '#ui/src/components/show/work-progress.tsx';
import { SkeletonList } from '#ui/src/components/skeleton.tsx';
import { exactTime } from '#ui/src/kernel/dates.ts';
import { useRetry } from '#ui/src/components/use-query.ts';
import { useKernel } from '#ui/src/kernel/kernel.ts';
import { createProgress } from '#ui/src/kernel/data/progress.ts';
import { createMutation } from '#ui/src/kernel/data/mutation.ts';
import { toProblem } from '#ui/src/kernel/problem.ts';
import { takeBack } from '#ui/src/kernel/data/take-back.ts';
import { createQuery } from '#ui/src/kernel/data/query.ts';
import { type ExportFile, type ImportChoices, toImport, writes } from './transfer-file.ts';
import { countsInWords, plural } from '#ui/src/kernel/words.ts';
import { Report } from './report.tsx';

const DRY_RUN_GATES = { check: 'Checking', write: 'Comparing with what is stored' };
const IMPORTED = { check: 'Checking', write: 'Importing' };
const UNDONE = { check: 'Checking', write: 'Undoing the import' };

const applied = (count: number): string => `Imported ${plural(count, 'record')}. They go live with the next deploy.`;

/** One file: how it is taken, what that would do, then doing it. */
export function ImportPanel(props: { file: ExportFile }) {
  const { call, session, toasts } = useKernel();
  const [mode, setMode] = createSignal<ImportChoices['mode']>('merge');
  const [settings, setSettings] = createSignal(false);
  const [done, setDone] = createSignal<ImportReport>();
  const choices = (): ImportChoices => ({ mode: mode(), include_server_config: settings() });
  const [checking, changing] = [createProgress(call), createProgress(call)];
  const rehearsal = useRetry(
    createQuery((signal) => checking.call('transfer.import', toImport(props.file, choices(), true), signal)),
  );
  const apply = createMutation((input: ImportChoices) => changing.call('transfer.import', toImport(props.file, input, false)));
  createEffect(on([mode, settings], () => void rehearsal.reload()));

  const undo = async ({ batch_id }: ImportReport) => {
    try {
      await takeBack(changing.call, { action: 'import', batch_id });
      setDone(undefined);
      await rehearsal.reload();
      toasts.show('Import undone.', 'good');
    } catch (fault) {
      toasts.show(toProblem(fault).detail, 'bad');
    }
  };
  const run = async () => {
    const report = await apply.run(choices());
    if (report === undefined) return;
    setDone(report);
    toasts.show(applied(writes(report)), 'good', { action: { label: 'Undo', run: () => void undo(report) } });
  };
  const date = () => {
    const { exported_at } = props.file;
    const at = exported_at === undefined ? Number.NaN : Date.parse(exported_at);
    return Number.isNaN(at) ? 'No date' : `Exported ${exactTime(at)}`;
  };
  const ready = () => {
    const report = rehearsal.data();
    return !rehearsal.pending() && report !== undefined && report.errors.length === 0 ? writes(report) : 0;
  };

  return (
    <div class="stack">
      <div class="transfer-file">
        <Icon name="file" size={20} />
        <div>
          <p class="mono small transfer-name">{props.file.name}</p>
          <p class="small faint">{countsInWords(props.file.counts, ['connection', 'tool', 'resource', 'prompt'])}</p>
          <p class="small faint">{date()}</p>
        </div>
      </div>
      <Show when={done() === undefined}>
        <RadioCards
          label="If a name already exists"
          value={mode()}
          onChange={setMode}
          columns={2}
          options={[
            { value: 'merge', label: 'Keep the existing one', hint: 'Adds only what is missing.' },
            {
              value: 'overwrite',
              label: 'Overwrite',
              hint: 'Replaces it, except for stored secrets. You can undo it in the history.',
            },
          ]}
        />
        <Show when={props.file.has_server_config && session.may('config.update')}>
          <Toggle
            label="Include server settings"
            hint="Name, authentication, TLS, variables, prompt guard and agent settings."
            checked={settings()}
            onChange={setSettings}
          />
        </Show>
      </Show>
      <Switch>
        <Match when={done()}>
          {(report) => (
            <>
              <Notice
                tone="good"
                live
                title={applied(writes(report()))}
                action={
                  <LinkButton href="/deploy" size="small" icon="rocket">
                    Review changes
                  </LinkButton>
                }
              />
              <Report report={report()} title="Import result" />
            </>
          )}
        </Match>
        <Match when={rehearsal.problem()}>
          {(problem) => (
            <>
              <ProblemNotice problem={problem()} onRetry={() => void rehearsal.reload()} />
              <Bullets small of={problem().errors.map(({ message }) => message)} />
            </>
          )}
        </Match>
        <Match when={rehearsal.data()}>{(report) => <Report report={report()} title="Import preview" />}</Match>
        <Match when={rehearsal.pending()}>
          <WorkProgress of={checking.progress()} steps={DRY_RUN_GATES} />
          <SkeletonList rows={4} label="Checking the file" />
        </Match>
      </Switch>
      <Failed of={apply} />
      <WorkProgress of={changing.progress()} steps={done() === undefined ? IMPORTED : UNDONE} />
      <Show when={done() === undefined}>
        <div class="row">
          <Button kind="primary" icon="upload" busy={apply.busy()} blocked={ready() === 0} onPress={() => void run()}>
            {`Import ${plural(ready(), 'record')}`}
          </Button>
        </div>
      </Show>
    </div>
  );
}
