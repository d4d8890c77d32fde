import { expect, test } from 'bun:test';
import { connectionOf, parameterOf, promptOf, snapshotOf, toolOf } from '#test/mcp-host/support.ts';
import { generate } from '#snapshots/generate/generate.ts';

test('a project leaves out what depends on who calls, and says so', () => {
  const connection = connectionOf({});
  const told = connectionOf({ name: 'told', session_values: [{ name: 'tenant', from: 'caller.sub' }] });
  const files = generate(
    snapshotOf(1, {
      connections: [connection, told],
      tools: [
        toolOf(connection, 'kept', 'select 1 as one'),
        toolOf(connection, 'own', 'select :who as who', { parameters: [parameterOf('who', 'string', { from: 'caller.sub' })] }),
        toolOf(connection, 'masked', 'select 1 as one', { masks: [{ columns: ['one'], mask: 'text', unless_groups: [] }] }),
        toolOf(connection, 'greets', 'select 1 as one', { transform_template: '{{ caller.name }}' }),
        toolOf(told, 'told', 'select 1 as one'),
      ],
      prompts: [
        promptOf('hello', 'Hello {{ caller.name }}'),
        promptOf('argument', 'Hello {{ caller }}', [{ name: 'caller', required: true }]),
      ],
    }),
  );
  const textOf = (path: string) => files.find((file) => file.path === path)?.content ?? '';
  expect(files.map(({ path }) => path).filter((path) => /^src\/(tools|prompts)\//.test(path))).toEqual([
    'src/prompts/argument.ts',
    'src/prompts/index.ts',
    'src/tools/index.ts',
    'src/tools/kept.ts',
  ]);
  for (const name of ['own', 'masked', 'greets', 'told', 'hello']) {
    expect(textOf('README.md')).toContain(`- \`${name}\`: it depends on who calls, which only Sluice knows`);
  }
});
