import { createEffect, For, on, onCleanup, Show } from 'solid-js';
import { isToolsetName, type ToolsetDraft, type ToolsetMembers } from '#core/contract/definitions/toolsets.ts';
import { Fixed } from '#ui/src/components/form/fixed.tsx';
import { FormFoot } from '#ui/src/components/form/form-foot.tsx';
import { TagsField } from '#ui/src/components/form/tags-field.tsx';
import { Panel } from '#ui/src/components/panel.tsx';
import { Snippet } from '#ui/src/components/show/snippet.tsx';
import { useQuery } from '#ui/src/components/use-query.ts';
import { createLiveCheck } from '#ui/src/features/run/runner.ts';
import { FormField } from '#ui/src/fields/form-field.tsx';
import type { Form, Path } from '#ui/src/kernel/form/form.ts';
import { useKernel } from '#ui/src/kernel/kernel.ts';
import { fieldErrorWithin, type Problem } from '#ui/src/kernel/problem.ts';
import { toolsetUrl } from '#ui/src/features/connect/connect-client.tsx';
import { MembersPanel } from './members-panel.tsx';
import { PickField } from './pick-field.tsx';
import type { Selectable } from './use-selectable.ts';

/** What a toolset holds and who has it, with its members as they would be now. */
export function ToolsetForm(props: {
  form: Form<ToolsetDraft>;
  selectable: Selectable;
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
            <SelectionPanel part="include" refused={check.problem()} {...props} />
            <SelectionPanel part="exclude" refused={check.problem()} {...props} />
            <Panel title="Access">
              <FormField form={fields()} name="read_only" />
              <FormField form={fields()} name="groups" />
              <FormField form={fields()} name="enabled" />
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
        <MembersPanel members={check.data()} problem={check.problem()} pending={check.pending()} />
      </div>
    </form>
  );
}

const PICKS = [
  {
    list: 'connection_ids',
    from: 'connections',
    label: 'Connections',
    hint: 'All definitions of these connections, including ones added later.',
  },
  { list: 'tool_ids', from: 'tools', label: 'Tools', hint: undefined },
  { list: 'resource_ids', from: 'resources', label: 'Resources', hint: undefined },
  { list: 'prompt_ids', from: 'prompts', label: 'Prompts', hint: undefined },
] as const;

/** The five lists of one side of the rule. */
function SelectionPanel(props: {
  part: 'include' | 'exclude';
  form: Form<ToolsetDraft>;
  selectable: Selectable;
  /** Why the members cannot be shown. */
  refused: Problem | undefined;
}) {
  const value = () => props.form.values[props.part];
  const path = (list: keyof ToolsetDraft['include']): Path<ToolsetDraft> => `${props.part}.${list}`;
  const error = (list: keyof ToolsetDraft['include']) =>
    props.form.errorWithin(path(list)) ?? fieldErrorWithin(props.refused, path(list));
  return (
    <Panel
      title={props.part === 'include' ? 'Include' : 'Exclude'}
      lead={
        props.part === 'include'
          ? 'Everything that any of these fields selects. Anyone who can edit definitions can add one by tagging it.'
          : 'Left out even if it is included.'
      }
    >
      <TagsField
        label="Tags"
        name={path('tags')}
        value={value().tags}
        onChange={(tags) => props.form.set(path('tags'), tags)}
        suggestions={props.selectable.tags()}
        error={error('tags')}
      />
      <For each={PICKS}>
        {({ list, label, from, hint }) => (
          <PickField
            label={label}
            hint={props.part === 'include' ? hint : undefined}
            name={path(list)}
            from={props.selectable[from]()}
            value={value()[list]}
            onChange={(ids) => props.form.set(path(list), ids)}
            error={error(list)}
          />
        )}
      </For>
    </Panel>
  );
}
