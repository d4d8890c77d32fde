/** The argument that takes the value of `next`. */
export const AFTER = 'after';

type Schema = Readonly<Record<string, unknown>>;

const AFTER_SCHEMA = {
  type: 'string',
  description: 'The value of next in the result before, with the same other arguments: continues after its last row.',
};
const NEXT_SCHEMA = { type: 'string', description: 'More rows follow: pass it as after to get them' };

/**
 * Whether a property of an input schema is the page cursor, which forms hide. The description is compared as well, because a tool
 * without pages can have a parameter of this name.
 */
export const continues = (name: string, { description }: Schema): boolean =>
  name === AFTER && description === AFTER_SCHEMA.description;

const FILE_SCHEMA = {
  type: 'object',
  description: 'Where a person can download the whole result as a file, until it expires',
  properties: {
    url: { type: 'string' },
    format: { type: 'string' },
    expires_at: { type: 'string', format: 'date-time' },
    resource: { type: 'string', description: 'A resource to read the rows in pages' },
    rows: { type: 'integer', description: 'Rows in the file, when the result here is complete' },
  },
  required: ['url', 'format', 'expires_at'],
};

const withProperty = (schema: Schema, name: string, value: Schema): Schema => {
  const { properties = {} } = schema;
  return typeof properties === 'object' ? { ...schema, properties: { ...properties, [name]: value } } : schema;
};

/** Adds the cursor to the schemas of a paged tool. */
export const pagedInput = (schema: Schema): Schema => withProperty(schema, AFTER, AFTER_SCHEMA);
export const pagedOutput = (schema: Schema | null): Schema | null => schema && withProperty(schema, 'next', NEXT_SCHEMA);

/** Adds the address of the whole result to the schema of a tool that offers a file. */
export const filedOutput = (schema: Schema | null): Schema | null => schema && withProperty(schema, 'file', FILE_SCHEMA);
