import { Match, Switch } from 'solid-js';
import type { EntityKind } from '#core/contract/entities.ts';
import { Button } from '#ui/src/components/button.tsx';
import { passesFocus } from '#ui/src/components/form/passes-focus.ts';
import { LinkButton } from '#ui/src/components/link.tsx';
import { Notice } from '#ui/src/components/notice.tsx';

/** Reports that another person changed or deleted the record of an open page. */
export function ChangedElsewhere(props: {
  kind: EntityKind;
  id: string;
  deleted: boolean;
  newer: boolean;
  onShow: () => unknown;
}) {
  return (
    <Switch>
      <Match when={props.deleted}>
        <Notice
          tone="warning"
          live
          title={`This ${props.kind} was deleted in the meantime`}
          action={
            <LinkButton size="small" href={`/history?type=${props.kind}&id=${props.id}`}>
              Open history
            </LinkButton>
          }
        >
          <p>What you typed is still here. The history says who deleted the {props.kind}, and can restore it.</p>
        </Notice>
      </Match>
      <Match when={props.newer}>
        <div ref={passesFocus}>
          <Notice
            tone="warning"
            live
            title={`This ${props.kind} was changed in the meantime`}
            action={
              <Button size="small" icon="refresh" onPress={() => props.onShow()}>
                Show the newest
              </Button>
            }
          >
            <p>You see the {props.kind} as it was before. If you save, you choose between your values and the new ones.</p>
          </Notice>
        </div>
      </Match>
    </Switch>
  );
}
