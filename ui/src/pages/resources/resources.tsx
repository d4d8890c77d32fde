import type { Resource } from '#core/contract/definitions/resources.ts';
import { EntityList } from '#ui/src/features/builder/definitions/entity-list.tsx';
import { count } from '#ui/src/kernel/numbers.ts';
import { uriVariables } from '#ui/src/features/builder/drafts.ts';

const isTemplate = ({ uri_template }: Resource): boolean => uriVariables(uri_template).length > 0;

/** Every resource. */
export function Resources() {
  return (
    <EntityList<Resource>
      noun="resources"
      load={(read, filter) => read('resources.list', filter)}
      kinds={[
        { value: 'fixed', label: 'Fixed', is: (resource) => !isTemplate(resource) },
        { value: 'template', label: 'Template', is: isTemplate },
      ]}
      columns={[
        {
          id: 'uri',
          head: 'URI',
          narrow: 'medium',
          sort: ({ uri_template }) => uri_template,
          cell: (resource) => <code class="small">{resource.uri_template}</code>,
        },
        {
          id: 'mime',
          head: 'Media type',
          narrow: 'wide',
          sort: ({ mime_type }) => mime_type,
          cell: (resource) => <span class="small">{resource.mime_type}</span>,
        },
        { id: 'connection', head: 'Connection', narrow: 'hide', text: ({ connection_name }) => connection_name },
        { id: 'tokens', head: 'Tokens', narrow: 'wide', num: ({ tokens }) => tokens, as: count },
      ]}
      menu={({ id }) => [{ label: 'Duplicate', icon: 'copy', href: `/resources/new?from=${id}` }]}
    />
  );
}
