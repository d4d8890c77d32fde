import { capital, plural } from '#ui/src/kernel/words.ts';
import { For, Show } from 'solid-js';
import type { ImportReport } from '#core/contract/transfer.ts';
import { Badge } from '#ui/src/components/badge.tsx';
import { LinkButton } from '#ui/src/components/link.tsx';
import { Notice } from '#ui/src/components/notice.tsx';
import { num } from '#ui/src/kernel/numbers.ts';
import { groupFaults, reportRows, writes } from './transfer-file.ts';

const kindWord = (kind: string): string => (kind === 'server_config' ? 'server settings' : kind);

/** What an import does or would do, and what is wrong at which record. */
export function Report(props: { report: ImportReport; title: string }) {
  const clean = () => props.report.errors.length === 0;
  const title = () => `${plural(props.report.errors.length, 'error')} in the file`;
  return (
    <section class="stack" aria-label={props.title}>
      <h3 class="transfer-sub">{props.title}</h3>
      <Show when={!clean()}>
        <Notice tone="bad" live title={title()}>
          <p>Nothing is imported until the file has no errors. Fix them and choose the file again.</p>
          <Show when={props.report.errors_truncated}>
            <p>There may be more errors.</p>
          </Show>
        </Notice>
        <ul class="stack fault-list" data-gap="3" aria-label={title()}>
          <For each={groupFaults(props.report.errors)}>
            {(group) => (
              <li>
                <p class="row">
                  <span class="mono">{group.name ?? '–'}</span>
                  <span class="small faint">{kindWord(group.entity_type)}</span>
                  <Show when={group.index !== null}>
                    <span class="small faint num">{`number ${num((group.index ?? 0) + 1)} in its list`}</span>
                  </Show>
                </p>
                <ul class="bullets">
                  <For each={group.faults}>
                    {(fault) => (
                      <li class="small">
                        <Show when={fault.field}>{(field) => <Badge>{field()}</Badge>}</Show> {fault.message}
                      </li>
                    )}
                  </For>
                </ul>
              </li>
            )}
          </For>
        </ul>
      </Show>
      <Show when={clean() && writes(props.report) === 0}>
        <Notice>Nothing to import: everything in the file exists already.</Notice>
      </Show>
      <Show when={clean() && reportRows(props.report).length > 0}>
        <div class="table-scroll">
          <table class="table transfer-table">
            <thead>
              <tr>
                <th scope="col">Kind</th>
                <th scope="col" data-align="end">
                  New
                </th>
                <th scope="col" data-align="end">
                  Overwritten
                </th>
                <th scope="col" data-align="end">
                  Kept
                </th>
              </tr>
            </thead>
            <tbody>
              <For each={reportRows(props.report)}>
                {(row) => (
                  <tr>
                    <th scope="row">{capital(kindWord(row.noun))}</th>
                    <td class="num" data-align="end" data-count={row.created > 0 ? 'created' : undefined}>
                      {num(row.created)}
                    </td>
                    <td class="num" data-align="end" data-count={row.updated > 0 ? 'updated' : undefined}>
                      {num(row.updated)}
                    </td>
                    <td class="num faint" data-align="end">
                      {num(row.skipped)}
                    </td>
                  </tr>
                )}
              </For>
            </tbody>
          </table>
        </div>
      </Show>
      <Show when={props.report.needs_secrets.length > 0}>
        <Notice tone="warning" title="Needs secrets">
          <p>Exports contain no secrets. Enter these to use what needs them.</p>
          <ul class="bullets">
            <For each={props.report.needs_secrets}>
              {({ connection, fields }) => (
                <li>
                  <span class="mono">{connection ?? 'Server settings'}</span>: {fields.join(', ')}
                </li>
              )}
            </For>
          </ul>
          <Show when={!props.report.dry_run}>
            <LinkButton href={props.report.needs_secrets[0]?.connection === null ? '/settings' : '/connections'} size="small">
              Enter
            </LinkButton>
          </Show>
        </Notice>
      </Show>
      <Show when={props.report.warnings.length > 0}>
        <details>
          <summary class="small soft">{plural(props.report.warnings.length, 'warning')}</summary>
          <ul class="bullets">
            <For each={props.report.warnings}>
              {(warning) => (
                <li class="small">
                  <span class="mono">{warning.name ?? kindWord(warning.entity_type)}</span>: {warning.message}
                </li>
              )}
            </For>
          </ul>
        </details>
      </Show>
    </section>
  );
}
