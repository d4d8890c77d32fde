import { createEffect, createSignal, type JSX, Match, Show, Switch, untrack } from 'solid-js';
import type { Connection } from '#core/contract/definitions/connections.ts';
import { Badge } from '#ui/src/components/badge.tsx';
import { EmptyState } from '#ui/src/components/empty-state.tsx';
import { LinkButton } from '#ui/src/components/link.tsx';
import { Menu, type MenuItem } from '#ui/src/components/menu.tsx';
import { ProblemNotice } from '#ui/src/components/notice.tsx';
import { Page } from '#ui/src/components/page.tsx';
import { SkeletonList } from '#ui/src/components/skeleton.tsx';
import { useQuery } from '#ui/src/components/use-query.ts';
import { useSaved } from '#ui/src/components/use-act.ts';
import { type Entity, ENTITY_TYPE, type EntityNoun } from './bulk.ts';
import type { Read } from '#ui/src/kernel/data/cache.ts';
import { DriftBadge, DriftNotice, useDrift } from '#ui/src/features/checks/drift.tsx';
import { isServed, LivenessBadge, useLiveness } from '#ui/src/features/deploy/liveness.tsx';
import { useKernel } from '#ui/src/kernel/kernel.ts';
import { capital } from '#ui/src/kernel/words.ts';
import { ENTITY_WORDS, playgroundOf } from './entity-words.ts';
import { Meanwhile, MEANWHILE_MS } from './meanwhile.tsx';
import { useBuilderContext } from './use-builder-context.ts';
import { useEntityActions } from './use-entity-actions.ts';

interface BuilderParts<E> {
  readonly entity: E;
  readonly connections: readonly Connection[];
  readonly tags: readonly string[];
  readonly onSaved: (entity: E) => void;
}

/** The page of one stored tool, resource or prompt: what can be done with it, and its builder. */
export function StoredEntity<E extends Entity>(props: {
  noun: EntityNoun;
  id: string;
  load: (read: Read, id: string) => Promise<E>;
  badges?: (entity: E) => JSX.Element;
  menu: (entity: E) => readonly MenuItem[];
  builder: (parts: BuilderParts<E>) => JSX.Element;
}) {
  const { dialogs, router, session } = useKernel();
  const said = useSaved();
  // The noun of a page does not change.
  // oxlint-disable-next-line solid/reactivity
  const { noun } = props;
  const { title, icon } = ENTITY_WORDS[noun];
  const one = ENTITY_TYPE[noun];
  const context = useBuilderContext(noun);
  const drift = useDrift();
  const query = useQuery((read) => props.load(read, props.id), { every_ms: MEANWHILE_MS });
  const liveness = useLiveness(
    () => ENTITY_TYPE[noun],
    () => query.data()?.version,
  );
  /** As it was when it was opened, saved or shown anew: what others write meanwhile changes nothing under a person's hands. */
  const [shown, setShown] = createSignal<E>();
  const entity = shown;
  const isNewer = () => !isDeleted() && (query.data()?.version ?? 0) > (shown()?.version ?? Number.POSITIVE_INFINITY);
  const isDeleted = () => query.data() !== undefined && query.problem()?.code === 'not_found';
  createEffect(() => {
    const first = query.data();
    if (untrack(shown) === undefined && first !== undefined) setShown(() => first);
  });
  /** Another one when the record was changed by something else than its form, which then begins again. */
  const [revision, setRevision] = createSignal({});
  const reload = async () => {
    await query.reload();
    setShown(() => query.data());
    setRevision({});
  };
  const mayChange = async () => {
    // An Undo may be pressed on another page, which loses nothing.
    const text = router.path() === `/${noun}/${props.id}` ? router.blocked() : undefined;
    const question = { title: 'Discard your changes?', action: 'Discard changes', cancel: 'Keep my changes', danger: true };
    return text === undefined || dialogs.confirm({ ...question, text });
  };
  const showNewest = async () => {
    if (await mayChange()) await reload();
  };
  const actions = useEntityActions(noun, { list: `/${noun}`, onChange: reload, mayChange });
  const keep = (after: E) => {
    setShown(() => after);
    said('Saved. Deploy to make it live.');
  };
  const first = () => (context.connections() === undefined || query.data() === undefined ? undefined : revision());

  return (
    <Page
      title={entity()?.name ?? title}
      width="full"
      back={{ href: `/${noun}`, label: title }}
      badge={
        <Show when={entity()}>
          {(found) => (
            <>
              <Show when={!found().enabled}>
                <Badge>Disabled</Badge>
              </Show>
              <Show when={!isDeleted()} fallback={<Badge tone="bad">Deleted</Badge>}>
                <LivenessBadge state={liveness(found())} />
              </Show>
              <DriftBadge drift={drift(found().id)} />
              {props.badges?.(found())}
              <Show when={!session.may('tools.update')}>
                <Badge title="Your role can read this but not change it.">View only</Badge>
              </Show>
            </>
          )}
        </Show>
      }
      actions={
        <Show when={entity()}>
          {(found) => (
            <>
              <Show when={isServed(liveness(found()))}>
                <LinkButton href={playgroundOf(noun, found())} icon="play">
                  Open in playground
                </LinkButton>
              </Show>
              <Menu label={`More for ${found().name}`} items={actions.menu(found(), props.menu(found()))} />
            </>
          )}
        </Show>
      }
    >
      <DriftNotice drift={drift(props.id)} />
      <Meanwhile kind={one} id={props.id} deleted={isDeleted()} newer={isNewer()} onShow={showNewest} />
      <Switch fallback={<SkeletonList rows={6} label="Loading" />}>
        <Match when={query.data() === undefined && query.problem()?.code === 'not_found'}>
          <EmptyState
            icon={icon}
            title={`${capital(one)} not found`}
            action={<LinkButton href={`/${noun}`}>Go to the {noun}</LinkButton>}
          >
            It may have been deleted. You can restore deleted records from the history.
          </EmptyState>
        </Match>
        <Match when={context.problem() ?? (query.data() === undefined ? query.problem() : undefined)}>
          {(problem) => (
            <ProblemNotice problem={problem()} onRetry={() => void Promise.all([context.reload(), query.reload()])} />
          )}
        </Match>
        <Match when={first()} keyed>
          {(_) => (
            <Show when={entity()}>
              {(found) =>
                props.builder({
                  get entity() {
                    return found();
                  },
                  get connections() {
                    return context.connections() ?? [];
                  },
                  get tags() {
                    return context.tags();
                  },
                  onSaved: keep,
                })
              }
            </Show>
          )}
        </Match>
      </Switch>
    </Page>
  );
}
