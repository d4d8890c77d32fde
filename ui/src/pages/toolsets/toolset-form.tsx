import { createEffect, on, onCleanup, Show } from 'solid-js';
import { isToolsetName, type Selection, type ToolsetDraft, type ToolsetMembers } from '#core/contract/definitions/toolsets.ts';
import { Fixed } from '#ui/src/components/form/fixed.tsx';
import { FormFoot } from '#ui/src/components/form/form-foot.tsx';
import { TagsField } from '#ui/src/components/form/tags-field.tsx';
import { Notice } from '#ui/src/components/notice.tsx';
import { Panel } from '#ui/src/components/panel.tsx';
import { Snippet } from '#ui/src/components/show/snippet.tsx';
import { useQuery } from '#ui/src/components/use-query.ts';
import { createLiveCheck } from '#ui/src/features/run/runner.ts';
import { FormField } from '#ui/src/fields/form-field.tsx';
import type { Form, Path } from '#ui/src/kernel/form/form.ts';
import { useKernel } from '#ui/src/kernel/kernel.ts';
import { fieldErrorWithin, type Problem } from '#ui/src/kernel/problem.ts';
import { toolsetUrl } from '#ui/src/features/connect/connect-texts.tsx';
import { Checklist } from './checklist.tsx';
import { MembersPanel } from './members-panel.tsx';
import { PickField } from './pick-field.tsx';
import type { useSelectable } from './use-selectable.ts';

/** What a toolset holds and who has it, with its members as they would be now. */
export function ToolsetForm(props: {
  form: Form<ToolsetDraft>;
  selectable: ReturnType<typeof useSelectable>;
  fresh: boolean;
  onSubmit: (event: Event) => void;
}) {
  const { call, presence, session } = useKernel();
  const fixed = () => !session.may('toolsets.update');
  const health = useQuery((read) => read('server.health', {}));
  const check = createLiveCheck<ToolsetMembers>(async (signal) => {
    const { include, exclude, read_only } = props.form.snapshot();
    const members = await call('toolsets.preview', { include, exclude, read_only }, signal);
    await presence.released();
    return members;
  });
  createEffect(
    on(
      () => JSON.stringify([props.form.values.include, props.form.values.exclude, props.form.values.read_only]),
      () => check.touch(),
    ),
  );
  onCleanup(() => check.stop());
  const fields = () => props.form as unknown as Form;
  /** While no toolset is enabled, callers see everything: the first one ends that. */
  const enabled = useQuery((read) => read('toolsets.list', { enabled: true, limit: 1 }));
  const isFirst = () => props.form.values.enabled && enabled.data()?.total === 0;
  const address = () => toolsetUrl(health.data()?.mcp_url ?? '', props.form.values.name);

  return (
    <form class="page-columns toolset" novalidate onSubmit={(event) => props.onSubmit(event)}>
      <div class="stack">
        <Fixed when={fixed()}>
          <div class="stack">
            <Panel title="About">
              <FormField form={fields()} name="name" />
              <FormField form={fields()} name="title" />
              <FormField form={fields()} name="description" />
              <FormField form={fields()} name="instructions" />
            </Panel>
            <SelectionPanel part="include" refused={check.problem()} fixed={fixed()} {...props} />
            <SelectionPanel part="exclude" refused={check.problem()} fixed={fixed()} {...props} />
            <Panel title="Access">
              <Show when={isFirst()}>
                <Notice tone="warning" title="The first toolset takes tools from everyone">
                  <p>
                    While no toolset is enabled, every caller sees everything. Once this one is deployed, people who sign in see
                    only the toolsets that are open to them, and callers with a token of another authorization server only those
                    that its scopes name. Access tokens that are not limited to toolsets keep everything.
                  </p>
                </Notice>
              </Show>
              <FormField form={fields()} name="read_only" />
              <FormField form={fields()} name="groups" />
              <FormField form={fields()} name="enabled" />
            </Panel>
            <Panel title="Context" lead="What the lists of this toolset take of every conversation.">
              <FormField form={fields()} name="token_budget" />
              <FormField form={fields()} name="find_tools" />
            </Panel>
            <Panel title="Files" lead="Whole results of tools that offer a file.">
              <FormField form={fields()} name="files" />
            </Panel>
          </div>
        </Fixed>
        <Show when={!fixed()}>
          <FormFoot
            form={props.form}
            submit={props.fresh ? 'Create toolset' : 'Save toolset'}
            always={props.fresh}
            {...(props.fresh ? { cancel_href: '/toolsets' } : {})}
          />
        </Show>
      </div>
      <div class="stack toolset-side">
        <Show when={health.data() !== undefined && isToolsetName(props.form.values.name)}>
          <Panel title="Address" flush>
            <div class="panel-body">
              <Snippet text={address()} label="Address" />
            </div>
          </Panel>
        </Show>
        <MembersPanel
          budget={props.form.values.token_budget}
          members={check.data()}
          problem={check.problem()}
          pending={check.pending()}
        />
      </div>
    </form>
  );
}

/** One side of the rule: single definitions, and what tags and connections add. */
function SelectionPanel(props: {
  part: 'include' | 'exclude';
  form: Form<ToolsetDraft>;
  selectable: ReturnType<typeof useSelectable>;
  fixed: boolean;
  /** Why the members cannot be shown. */
  refused: Problem | undefined;
}) {
  const value = () => props.form.values[props.part];
  const path = (list: keyof Selection): Path<ToolsetDraft> => `${props.part}.${list}`;
  const error = (list: keyof Selection) => props.form.errorWithin(path(list)) ?? fieldErrorWithin(props.refused, path(list));
  const fields = () => (
    <>
      <Checklist
        label="Definitions"
        all={props.selectable.definitions()}
        value={value()}
        onChange={(next) => props.form.set(props.part, next)}
        error={error('tool_ids') ?? error('resource_ids') ?? error('prompt_ids')}
        fixed={props.fixed}
      />
      <TagsField
        label="Tags"
        hint="All definitions with one of these tags."
        name={path('tags')}
        value={value().tags}
        onChange={(tags) => props.form.set(path('tags'), tags)}
        suggestions={props.selectable.tags()}
        error={error('tags')}
      />
      <PickField
        label="Connections"
        hint="All definitions of these connections, including ones added later."
        name={path('connection_ids')}
        from={props.selectable.connections()}
        value={value().connection_ids}
        onChange={(ids) => props.form.set(path('connection_ids'), ids)}
        error={error('connection_ids')}
      />
    </>
  );
  return (
    <Show
      when={props.part === 'include'}
      fallback={
        <Panel title="Exclude" lead="Left out even if it is included.">
          <details class="fold" open={Object.values(value()).some(({ length }) => length > 0)}>
            <summary>Choose what to leave out</summary>
            <div class="stack">{fields()}</div>
          </details>
        </Panel>
      }
    >
      <Panel
        title="Include"
        lead="Everything that any of these fields selects. Anyone who can edit definitions can add one by tagging it."
      >
        {fields()}
      </Panel>
    </Show>
  );
}
