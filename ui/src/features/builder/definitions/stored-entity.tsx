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
import { ChangedElsewhere } from './changed-elsewhere.tsx';
import { useBuilderContext } from './use-builder-context.ts';
import { useEntityActions } from './use-entity-actions.ts';

interface BuilderParts<E> {
  readonly entity: E;
  readonly connections: readonly Connection[];
  readonly tags: readonly string[];
  readonly onSaved: (entity: E) => void;
}

/** The page of a stored tool, resource or prompt: its menu and its builder. */
export function StoredEntity<E extends Entity>(props: {
  noun: EntityNoun;
  id: string;
  load: (read: Read, id: string) => Promise<E>;
  badges?: (entity: E) => JSX.Element;
  menu: (entity: E) => readonly MenuItem[];
  builder: (parts: BuilderParts<E>) => JSX.Element;
}) {
  const { dialogs, router, session } = useKernel();
  const notify = useSaved();
  // The noun of a page never changes.
  // oxlint-disable-next-line solid/reactivity
  const { noun } = props;
  const { title, icon } = ENTITY_WORDS[noun];
  const one = ENTITY_TYPE[noun];
  const context = useBuilderContext(noun);
  const drift = useDrift();
  const query = useQuery((read) => props.load(read, props.id), { live: true });
  const liveness = useLiveness(
    () => ENTITY_TYPE[noun],
    () => query.data()?.version,
  );
  /** The entity as last opened, saved or reloaded: changes by other people do not replace the form's values. */
  const [shown, setShown] = createSignal<E>();
  const entity = shown;
  const isNewer = () => !isDeleted() && (query.data()?.version ?? 0) > (shown()?.version ?? Number.POSITIVE_INFINITY);
  const isDeleted = () => query.data() !== undefined && query.problem()?.code === 'not_found';
  createEffect(() => {
    const first = query.data();
    if (untrack(shown) === undefined && first !== undefined) setShown(() => first);
  });
  /** A new object when the record was changed outside of its form, which then restarts. */
  const [revision, setRevision] = createSignal({});
  const reload = async () => {
    await query.reload();
    setShown(() => query.data());
    setRevision({});
  };
  const mayChange = async () => {
    // Undo may run on another page, which has no unsaved changes of this form.
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
    notify('Saved. Deploy to make it live.');
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
      <ChangedElsewhere kind={one} id={props.id} deleted={isDeleted()} newer={isNewer()} onShow={showNewest} />
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
