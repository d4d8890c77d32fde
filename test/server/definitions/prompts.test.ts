import { afterEach, beforeEach, describe, expect, test } from 'bun:test';
import { eq } from 'drizzle-orm';
import { type TestApp, testApp } from '#test/support/app.ts';

let t: TestApp;
beforeEach(async () => {
  t = await testApp();
  await t.signIn();
});
afterEach(() => t.close());
const prompt = (over: object = {}) => ({
  name: 'report',
  description: 'A report',
  template: 'Report on {{ topic }}.',
  arguments: [{ name: 'topic' }],
  ...over,
});
const createPrompt = (over: object = {}) => t.send('prompts.create', prompt(over));
const errorsOf = ({ body }: { body: Record<string, unknown> }) => body['errors'];

describe('a variable that is no argument is refused by name', () => {
  const cases: readonly [string, object, string, string][] = [
    ['in a template', { template: 'Report on {{ topic }} for {{ audience }}.' }, 'template', 'audience'],
    ['in a condition', { template: '{% if urgent %}Now: {% endif %}{{ topic }}' }, 'template', 'urgent'],
    ['behind a filter', { template: '{{ tone | default("calm") }} {{ topic }}' }, 'template', 'tone'],
    ['after the loop that had it', { template: '{% for x in [1] %}{{ x }}{% endfor %}{{ x }}' }, 'template', 'x'],
  ];
  for (const [title, over, field, name] of cases) {
    test(title, async () => {
      const refused = await createPrompt(over);
      expect(refused.status).toBe(422);
      expect(errorsOf(refused)).toEqual([
        { field, message: `The variable ${name} is not an argument. Add it to the arguments or remove it from the text.` },
      ]);
    });
  }

  test('in one of several messages, all of them together', async () => {
    const refused = await createPrompt({
      template: null,
      messages: [
        { role: 'user', template: '{{ topic }}' },
        { role: 'assistant', template: '{{ one }} and {{ two }}' },
      ],
    });
    expect(errorsOf(refused)).toEqual([
      {
        field: 'messages.1.template',
        message: 'The variables one and two are not arguments. Add them to the arguments or remove them from the text.',
      },
    ]);
  });
});

test('what the template sets itself, loops over, or finds in vars is not asked for', async () => {
  const template =
    '{% set a = topic %}{% if a %}{% set b = 1 %}{% endif %}{% for i in range(2) %}{{ loop.index }}{{ i }}{% endfor %}{{ a }}{{ b }}{{ vars.shop | default(1) }}';
  expect((await createPrompt({ template })).status).toBe(201);
});

test('a prompt from before the check keeps working until its text or arguments change', async () => {
  const { body } = await createPrompt();
  const { prompts } = t.app.store.tables;
  await t.app.store.db.update(prompts).set({ template: '{{ topic }} {{ tone }}' }).where(eq(prompts.id, body.id));
  expect((await t.send('prompts.update', { id: body.id, title: 'Reports' })).status).toBe(200);
  expect((await t.send('prompts.update', { id: body.id, template: '{{ topic }}: {{ tone }}' })).status).toBe(422);
  expect((await t.send('prompts.delete', { id: body.id })).status).toBe(204);
  const history = await t.call('history.entity', { entity_type: 'prompt', entity_id: body.id });
  const [deleted] = history.items as { id: string }[];
  const restored = await t.send('history.rollback', { history_id: deleted?.id });
  expect([restored.status, (await t.call('prompts.get', { id: body.id })).template]).toEqual([200, '{{ topic }} {{ tone }}']);
});

test('the preview names the variables of the text, so that an author need not type them twice', async () => {
  const { body } = await t.send('preview.prompt', {
    template: '{{ topic }} {{ tone }} {{ vars.shop }} {% set x = 1 %}{{ x }}',
    arguments: [],
  });
  expect(body).toMatchObject({ variables: ['topic', 'tone'], refusal: { code: 'invalid', errors: [{ field: 'template' }] } });
});
