import type { Resource } from '#core/contract/resources.ts';
import { EntityList } from '#ui/src/components/builder/entity-list.tsx';
import { uriVariables } from '#ui/src/kernel/builder-drafts.ts';
import { useKernel } from '#ui/src/kernel/kernel.ts';
import { RESOURCE_WORDS as WORDS } from './words.ts';

const isTemplate = ({ uri_template }: Resource): boolean => uriVariables(uri_template).length > 0;

/** Every resource. */
export function Resources() {
  const { call } = useKernel();
  return (
    <EntityList<Resource>
      noun="resources"
      icon="file"
      words={WORDS}
      load={(filter, signal) => call('resources.list', filter, signal)}
      kinds={[
        { value: 'fixed', label: WORDS.fixed, is: (resource) => !isTemplate(resource) },
        { value: 'template', label: WORDS.template, is: isTemplate },
      ]}
      columns={[
        {
          id: 'uri',
          head: WORDS.uri,
          narrow: 'hide',
          sort: ({ uri_template }) => uri_template,
          cell: (resource) => <code class="small">{resource.uri_template}</code>,
        },
        {
          id: 'mime',
          head: WORDS.mime,
          narrow: 'hide',
          sort: ({ mime_type }) => mime_type,
          cell: (resource) => <span class="small">{resource.mime_type}</span>,
        },
        {
          id: 'connection',
          head: 'Connection',
          narrow: 'hide',
          sort: ({ connection_name }) => connection_name,
          cell: ({ connection_name }) => connection_name,
        },
      ]}
      menu={({ id }) => [{ label: WORDS.copy, icon: 'copy', href: `/resources/new?from=${id}` }]}
    />
  );
}
