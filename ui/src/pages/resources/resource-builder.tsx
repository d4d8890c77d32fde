import { type Resource, ResourceDraft } from '#core/contract/definitions/resources.ts';
import { Combobox } from '#ui/src/components/form/combobox.tsx';
import { Panel } from '#ui/src/components/panel.tsx';
import { toResourceDraft, uriVariables } from '#ui/src/features/builder/drafts.ts';
import { trimmed } from '#ui/src/features/builder/parameters/parameters.ts';
import { askedOf, StatementBuilder } from '#ui/src/features/builder/statement-builder.tsx';
import { type BuilderProps, useBuilder } from '#ui/src/features/builder/use-builder.ts';
import { ownId } from '#ui/src/features/builder/use-draft-check.ts';
import { FormField } from '#ui/src/fields/form-field.tsx';
import { useKernel } from '#ui/src/kernel/kernel.ts';
import { MIME_TYPES } from './mime-types.ts';

/** From here on it can be an address. */
const SHORTEST_URI = 3;

/** One resource: an address, a statement behind it, and the body that it gives. */
export function ResourceBuilder(props: BuilderProps<ResourceDraft, Resource>) {
  const { call } = useKernel();
  const builder = useBuilder<ResourceDraft, Resource>({
    noun: 'resources',
    schema: ResourceDraft,
    props,
    draftOf: toResourceDraft,
    clean: (draft) => ({ ...draft, parameters: draft.parameters.map(trimmed) }),
    create: (draft) => call('resources.create', draft),
    update: (change) => call('resources.update', change),
    read: (id) => call('resources.get', { id }),
    example: ['description', 'uri_template', 'sql_query'],
  });
  const { form } = builder;
  return (
    <StatementBuilder
      kind="resource"
      builder={builder}
      stored={props.entity}
      connections={props.connections}
      tags={props.tags}
      asked={(draft) => {
        const { uri_template, mime_type } = draft;
        if (uri_template.length < SHORTEST_URI) return undefined;
        return { ...ownId(props.entity), ...askedOf(draft), uri_template, mime_type };
      }}
      check={(input, signal) => call('preview.resource', input, signal)}
      named={() => uriVariables(form.values.uri_template)}
      becomes={() => ({ mime_type: form.values.mime_type })}
      no_parameters={'Write {name} in the URI and its parameter appears here.'}
      template="Write the body with a template"
      hints={{ name: 'Letters, digits, _ and -.', description: 'What it holds and when to read it.' }}
      first={(error) => (
        <Panel
          title="Address"
          lead="A resource with variables is listed as a template; its variables are the parameters of the statement."
          flush
        >
          <div class="panel-body grid-2">
            <FormField form={form} name="uri_template" placeholder="shop://orders/{id}" error={error('uri_template')} />
            <Combobox
              label="Media type"
              free
              hint="Decides the body: JSON rows, CSV, text, or the bytes of the first cell."
              options={MIME_TYPES}
              value={form.values.mime_type}
              onChange={(value) => form.set('mime_type', value ?? 'application/json')}
              error={error('mime_type')}
            />
          </div>
        </Panel>
      )}
    />
  );
}
