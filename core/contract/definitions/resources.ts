import * as v from 'valibot';
import { Id, definitionTags, SqlText, stored, template, textBetween, texts, Unchanged, Warnings } from '../fields.ts';
import { field } from '../marks.ts';
import { Findings } from '../lint.ts';
import { entityOperations, ownedFilters } from '../entity-operations.ts';
import { masks } from './masks.ts';
import { Parameters } from './parameters.ts';

const draft = {
  connection_id: field(Id, { label: 'Connection', open: true }),
  ...texts,
  uri_template: field(textBetween(3, 2_000), {
    label: 'URI',
    help: 'With a scheme, such as shop://orders/{id}. Its variables are the parameters.',
    control: 'mono',
    open: true,
    breaking: (now, old) => `The address of this resource is ${String(now)} instead of ${String(old)}.`,
  }),
  sql_query: field(SqlText, { label: 'SQL', control: 'code', open: true }),
  parameters: field(Parameters, { label: 'Parameters', open: true, default: [] }),
  tags: definitionTags,
  mime_type: field(
    v.pipe(
      textBetween(3, 127),
      v.regex(/^[\w.+-]+\/[\w.+-]+(;\s*charset=[\w-]+)?$/, 'must be a media type such as application/json'),
    ),
    {
      label: 'Media type',
      control: 'mono',
      open: true,
      breaking: (now, old) => `The content of this resource is ${String(now)} instead of ${String(old)}.`,
      default: 'application/json',
    },
  ),
  transform_template: template,
  masks,
  enabled: field(v.boolean(), {
    label: 'Enabled',
    help: 'Disabled resources are left out of the next deploy.',
    open: true,
    default: true,
  }),
};

export const ResourceDraft = v.strictObject(draft);
export type ResourceDraft = v.InferOutput<typeof ResourceDraft>;

export const Resource = v.object({
  id: Id,
  ...draft,
  connection_name: v.string(),
  warnings: Warnings,
  tokens: v.pipe(v.number(), v.description('What its entry in the list of resources costs a model, estimated')),
  ...stored,
  findings: Findings,
  unchanged: Unchanged,
});
export type Resource = v.InferOutput<typeof Resource>;

export const resources = entityOperations({
  kind: 'resource',
  plural: 'resources',
  draft: ResourceDraft,
  record: Resource,
  filters: ownedFilters,
  agents_list: true,
});
