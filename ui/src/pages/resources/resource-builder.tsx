import { type Resource, ResourceDraft } from '#core/contract/definitions/resources.ts';
import { Combobox } from '#ui/src/components/form/combobox.tsx';
import { Panel } from '#ui/src/components/panel.tsx';
import type { DefinitionProps } from '#ui/src/features/builder/definition-draft.ts';
import { toResourceDraft, uriVariables } from '#ui/src/features/builder/drafts.ts';
import { StatementBuilder } from '#ui/src/features/builder/statement-builder.tsx';
import { statementInput, useStatementDraft } from '#ui/src/features/builder/statement-draft.ts';
import { FormField } from '#ui/src/fields/form-field.tsx';
import { useKernel } from '#ui/src/kernel/kernel.ts';
import { MIME_TYPES } from './mime-types.ts';

/** From here on it can be an address. */
const SHORTEST_URI = 3;

/** One resource: an address, a statement behind it, and the body that it gives. */
export function ResourceBuilder(props: DefinitionProps<ResourceDraft, Resource>) {
  const { call } = useKernel();
  const draft = useStatementDraft({
    noun: 'resources',
    schema: ResourceDraft,
    props,
    toDraft: toResourceDraft,
    create: (values) => call('resources.create', values),
    update: (change) => call('resources.update', change),
    read: (id) => call('resources.get', { id }),
    example: ['description', 'uri_template', 'sql_query'],
    input({ uri_template, mime_type, ...values }: ResourceDraft) {
      return uri_template.length < SHORTEST_URI ? undefined : { ...statementInput(values), uri_template, mime_type };
    },
    check: (input, signal) => call('preview.resource', input, signal),
    named: ({ uri_template }) => uriVariables(uri_template),
    becomes: ({ mime_type }) => ({ mime_type }),
  });
  const { form } = draft;
  return (
    <StatementBuilder
      draft={draft}
      first={
        <Panel
          title="Address"
          lead="A resource with variables is listed as a template; its variables are the parameters of the statement."
          flush
        >
          <div class="panel-body grid-2">
            <FormField form={form} name="uri_template" placeholder="shop://orders/{id}" error={draft.error('uri_template')} />
            <Combobox
              label="Media type"
              free
              hint="Decides the body: JSON rows, CSV, text, or the bytes of the first cell."
              options={MIME_TYPES}
              value={form.values.mime_type}
              onChange={(value) => form.set('mime_type', value ?? 'application/json')}
              error={draft.error('mime_type')}
            />
          </div>
        </Panel>
      }
    />
  );
}
