import { For, Show } from 'solid-js';
import type { LintFinding } from '#core/contract/lint.ts';
import { LINT_RULES } from '#core/contract/settings/lint-rules.ts';
import { Button } from '#ui/src/components/button.tsx';
import './checks.css';

/** What lint finds in one field, beside it, with its fix where the rule knows one. */
export function LintNotes(props: {
  findings: readonly LintFinding[];
  /** Absent: read-only. */
  onFix?: ((changes: Readonly<Record<string, unknown>>) => void) | undefined;
}) {
  return (
    <Show when={props.findings.length > 0}>
      <ul class="lint-notes" aria-label="Lint findings">
        <For each={props.findings}>
          {({ rule, severity, message, fix }) => (
            <li data-severity={severity} title={`${LINT_RULES[rule].label} (${rule})`}>
              <span>{message}</span>
              <Show when={props.onFix === undefined ? undefined : fix}>
                {(known) => (
                  <Button size="small" kind="quiet" onPress={() => props.onFix?.(known().changes)}>
                    {known().label}
                  </Button>
                )}
              </Show>
            </li>
          )}
        </For>
      </ul>
    </Show>
  );
}
