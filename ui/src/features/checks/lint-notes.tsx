import { For, Show } from 'solid-js';
import type { LintFinding } from '#core/contract/lint.ts';
import { Button } from '#ui/src/components/button.tsx';
import './checks.css';

/** A fix that this page knows, such as one with values from the data. */
export interface LintOffer {
  readonly label: string;
  readonly run: () => unknown;
}

/** Lint findings, each with its fix where there is one. */
export function LintNotes(props: {
  findings: readonly LintFinding[];
  /** Absent: read-only. May return a promise, until which the button is busy. */
  onFix?: ((changes: Readonly<Record<string, unknown>>) => unknown) | undefined;
  /** Another fix of a finding. */
  offer?: (finding: LintFinding) => LintOffer | undefined;
}) {
  const fixesOf = (finding: LintFinding): readonly LintOffer[] => {
    const { fix } = finding;
    const apply = props.onFix;
    const other = props.offer?.(finding);
    return [
      ...(fix === undefined || apply === undefined ? [] : [{ label: fix.label, run: () => apply(fix.changes) }]),
      ...(other === undefined ? [] : [other]),
    ];
  };
  return (
    <Show when={props.findings.length > 0}>
      <ul class="lint-notes" aria-label="Lint findings">
        <For each={props.findings}>
          {(finding) => (
            <li data-severity={finding.severity} title={finding.rule}>
              <span>{finding.message}</span>
              <For each={fixesOf(finding)}>
                {({ label, run }) => (
                  <Button size="small" kind="quiet" onPress={run}>
                    {label}
                  </Button>
                )}
              </For>
            </li>
          )}
        </For>
      </ul>
    </Show>
  );
}
