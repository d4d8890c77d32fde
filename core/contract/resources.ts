import * as v from 'valibot';
import {
  Description,
  EntityName,
  Id,
  SqlText,
  Tags,
  TemplateText,
  textBetween,
  Timestamp,
  Title,
  Version,
  Warnings,
} from './fields.ts';
import { entityOperations, ownedFilters } from './entity-operations.ts';
import { Parameters } from './parameters.ts';

const draft = {
  connection_id: Id,
  name: EntityName,
  title: v.optional(Title, null),
  description: Description,
  /** RFC 6570 level 1 with a scheme; its variables are the parameters. */
  uri_template: textBetween(3, 2_000),
  sql_query: SqlText,
  parameters: v.optional(Parameters, []),
  tags: v.optional(Tags, []),
  mime_type: v.optional(
    v.pipe(
      textBetween(3, 127),
      v.regex(/^[\w.+-]+\/[\w.+-]+(;\s*charset=[\w-]+)?$/, 'must be a media type such as application/json'),
    ),
    'application/json',
  ),
  transform_template: v.optional(TemplateText, null),
  enabled: v.optional(v.boolean(), true),
};

export const ResourceDraft = v.strictObject(draft);
export type ResourceDraft = v.InferOutput<typeof ResourceDraft>;

export const Resource = v.object({
  id: Id,
  ...draft,
  connection_name: v.string(),
  warnings: Warnings,
  version: Version,
  created_at: Timestamp,
  updated_at: Timestamp,
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
