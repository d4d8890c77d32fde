import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { type Answer, testApp, type TestApp } from '#test/support/app.ts';
import { sqliteConnection } from '#test/support/sqlite-connection.ts';

let t: TestApp;
let connection_id = '';
let made = 0;
beforeAll(async () => {
  t = await testApp();
  await t.signIn();
  connection_id = await sqliteConnection(
    t,
    'create table notes (id integer primary key, text text, score real, extra json)',
    "insert into notes values (1, 'a|b', 1.5, '{}'), (2, null, 2, '[]'), (3, 'c', 3, null)",
  );
});
afterAll(() => t.close());

const draft = (more: object = {}) => ({
  name: `tool_${++made}`,
  connection_id,
  description: 'Lists notes with their texts, in the order of their numbers.',
  sql_query: 'select id, text, score, extra from notes',
  ...more,
});
const createTool = (more: object = {}) => t.send('tools.create', draft(more));
const errorsOf = ({ body }: Answer) => body.errors ?? [];
const by = (column: string, desc = false) => [{ column, desc }];

describe('pages, tokens and text formats of a tool', () => {
  test('are off by default, stored, and shown to models in the schemas', async () => {
    expect((await createTool()).body).toMatchObject({ page_by: [], max_tokens: null, text_format: 'json' });
    const { status, body } = await createTool({ page_by: [{ column: 'id' }], max_tokens: 500, text_format: 'csv' });
    expect([status, body.page_by, body.max_tokens, body.text_format]).toEqual([201, by('id'), 500, 'csv']);
    const shown = body.output_schema as { properties: object };
    expect(Object.keys(shown.properties)).toEqual(['rows', 'row_count', 'truncated', 'next']);
    const preview = await t.call('preview.tool', draft({ page_by: by('text', true) }));
    const listing = preview.listing as { inputSchema: { properties: object }; outputSchema: { properties: object } };
    expect(Object.keys(listing.inputSchema.properties)).toEqual(['after']);
    expect(Object.keys(listing.outputSchema.properties)).toContain('next');
  });

  test('are refused where they would have no effect, or the order would not be exact', async () => {
    const refused: [object, string, string][] = [
      [{ page_by: by('nowhere') }, 'page_by.0.column', 'no column nowhere'],
      [{ page_by: by('score') }, 'page_by.0.column', 'exact values'],
      [{ page_by: by('extra') }, 'page_by.0.column', 'exact values'],
      [{ page_by: [...by('id'), ...by('id')] }, 'page_by', 'each column once'],
      [{ page_by: by('id'), sql_query: 'delete from notes where id = 99' }, 'page_by', 'only read'],
      [{ page_by: by('id'), sql_query: 'explain select id from notes' }, 'page_by', 'needs a SELECT'],
      [{ page_by: by('id'), return_type: 'value' }, 'page_by', 'return types'],
      [{ page_by: by('id'), transform_template: '{{ rows | length }}' }, 'page_by', 'template'],
      [
        {
          page_by: by('id'),
          sql_query: 'select id from notes where id > :after',
          parameters: [{ name: 'after', type: 'integer', description: 'x' }],
        },
        'page_by',
        'Rename the parameter',
      ],
      [{ text_format: 'csv', return_type: 'value' }, 'text_format', 'return types'],
      [{ text_format: 'csv', transform_template: '{{ rows | length }}' }, 'text_format', 'template'],
      [{ text_format: 'xml' }, 'text_format', ''],
      [{ max_tokens: 5 }, 'max_tokens', ''],
      [{ max_tokens: 500, return_type: 'image' }, 'max_tokens', 'max_bytes'],
    ];
    for (const [more, field, words] of refused) {
      const answer = await createTool(more);
      expect([more, answer.status, errorsOf(answer)[0]]).toEqual([more, 422, { field, message: expect.stringContaining(words) }]);
    }
  });

  test('stand in the preview: the text in its format, and the tokens of each', async () => {
    const ask = (more: object) =>
      t.send('preview.execute', { connection_id, sql_query: 'select id, text from notes order by id', ...more });
    const { body } = await ask({ return_type: 'rows', text_format: 'markdown' });
    const model = body.model as { content: { text: string }[]; structuredContent: object };
    expect(model.content[0]?.text).toBe('| id | text |\n| --- | --- |\n| 1 | a\\|b |\n| 2 |  |\n| 3 | c |');
    expect(model.structuredContent).toMatchObject({ row_count: 3 });
    const tokens = body.format_tokens as Record<string, number>;
    expect(Object.keys(tokens)).toEqual(['json', 'markdown', 'csv', 'tsv']);
    expect(tokens['csv']).toBeLessThan(tokens['json'] ?? 0);
    expect((await ask({ return_type: 'value' })).body.format_tokens).toBeUndefined();
  });

  test('travel with an export, and a generated project leaves pages and token limits out', async () => {
    const { body } = await createTool({ page_by: by('id'), max_tokens: 900 });
    const formatted = await createTool({ text_format: 'tsv' });
    const exported = await t.call('transfer.export', {});
    const named = (name: unknown) => exported.tools.find((tool) => tool['name'] === name);
    expect(named(body.name)).toMatchObject({ page_by: by('id'), max_tokens: 900 });
    expect(named(formatted.body.name)).toMatchObject({ text_format: 'tsv' });
    expect((await t.send('deploy.run')).status).toBe(200);
    const { files } = await t.call('server.generated', {});
    expect(files.some(({ path }) => path.endsWith(`/${body.name}.ts`))).toBe(false);
    expect(files.find(({ path }) => path.endsWith(`/${formatted.body.name}.ts`))?.content).toContain('text_format: "tsv"');
    expect(files.find(({ path }) => path === 'README.md')?.content).toContain('whose cursors only Sluice seals');
  });

  test('satisfy lint where the statement has no order of its own', async () => {
    const rulesOf = async (more: object) => {
      const { body } = await createTool(more);
      const { items } = (await t.request('GET', `/api/v1/lint?owner=tool:${body.id}`)).body as {
        items: { rule: string }[];
      };
      return items.map(({ rule }) => rule);
    };
    expect(await rulesOf({})).toContain('unbounded-rows');
    expect(await rulesOf({ page_by: by('id') })).not.toContain('unbounded-rows');
  });
});

describe('the file of a tool', () => {
  test('is off by default, stored, and declared in the output schema', async () => {
    expect((await createTool()).body).toMatchObject({ files: null });
    const { status, body } = await createTool({ files: 'csv' });
    expect([status, body.files]).toEqual([201, 'csv']);
    const shown = body.output_schema as { properties: Record<string, { required?: string[] }>; required: string[] };
    expect(shown.properties['file']?.required).toEqual(['url', 'format', 'expires_at']);
    expect(shown.required).not.toContain('file');
    expect((await createTool({ files: 'jsonl', return_type: 'markdown' })).status).toBe(201);
  });

  test('is refused where it would show more than the answer, or the tool writes', async () => {
    const refused: [object, string][] = [
      [{ files: 'pdf' }, ''],
      [{ files: 'csv', return_type: 'value' }, 'contain all columns'],
      [{ files: 'csv', return_type: 'column' }, 'contain all columns'],
      [{ files: 'csv', transform_template: '{{ rows | length }}' }, 'template leaves out'],
      [{ files: 'csv', sql_query: 'delete from notes where id = 99' }, 'only read'],
    ];
    for (const [more, message] of refused) {
      const answer = await createTool(more);
      expect([answer.status, errorsOf(answer)]).toMatchObject([
        422,
        [{ field: 'files', message: expect.stringContaining(message) }],
      ]);
    }
  });

  test('is allowed by toolsets, which only administrators change', async () => {
    const toolset = await t.call('toolsets.create', { name: 'with-files', include: {}, files: true });
    expect(toolset.files).toBe(true);
    expect((await t.call('toolsets.create', { name: 'without-files', include: {} })).files).toBe(false);
  });
});
