import { For } from 'solid-js';
import { LinkButton } from '#ui/src/components/link.tsx';
import { Notice } from '#ui/src/components/notice.tsx';

/** Risks of what the next deploy will serve, before its button. */
export function ComingWarnings(props: { warnings: readonly string[] | undefined }) {
  return (
    <For each={props.warnings}>
      {(warning) => (
        <Notice
          tone="warning"
          title="This deploy lets anyone call every tool"
          action={
            <LinkButton href="/settings/auth" size="small" icon="shield">
              Choose authentication
            </LinkButton>
          }
        >
          <p>{warning}</p>
        </Notice>
      )}
    </For>
  );
}
