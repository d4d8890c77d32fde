import { expect, test } from 'bun:test';
import { definitionOf, groupFindings, sentenceOf } from '#ui/src/features/deploy/finding-groups.ts';
import { unfitIn } from '#ui/src/features/deploy/unfit.ts';

const finding = (gate: string, field: string | null, message: string, rule: string | null = null) => ({
  gate,
  rule,
  field,
  message,
});

test('findings stand by lint rule or check, and each names its definition once', () => {
  const findings = [
    finding('lint', 'tool.search', 'Tool search: The description is short.', 'description-missing'),
    finding('drift', 'resource.orders', 'Resource orders: its tables have changed since it was saved.'),
    finding('lint', 'tool.other', 'Tool other: The description is short.', 'description-missing'),
    finding('exposure', 'auth_type', 'Anyone can call every tool.'),
  ];
  expect(groupFindings(findings).map(({ title, findings: members }) => [title, members.map(sentenceOf)])).toEqual([
    ['Description missing', ['The description is short.', 'The description is short.']],
    ['Drift', ['Its tables have changed since it was saved.']],
    ['Other checks', ['Anyone can call every tool.']],
  ]);
  expect(findings.map(definitionOf)).toEqual([
    { kind: 'tool', name: 'search' },
    { kind: 'resource', name: 'orders' },
    { kind: 'tool', name: 'other' },
    undefined,
  ]);
});

test('what can be left out of a deploy is what its database refuses or what drifted, once each', () => {
  const errors = [
    { field: 'tool.search', message: 'The configuration cannot be deployed. Tool search: no such table.' },
    { field: 'tool.search', message: 'Tool search: no such column.' },
    { field: 'prompt.hello', message: 'Prompt hello: no template.' },
    { field: 'tool.drifted', message: 'Tool drifted: its tables have changed.', gate: 'drift' },
    { field: 'tool.other', message: 'Tool other: a test failed.', gate: 'tests' },
    { field: 'auth_type', message: 'Nobody could call.' },
  ];
  expect(unfitIn({ errors })).toEqual([
    { kind: 'tool', name: 'search' },
    { kind: 'prompt', name: 'hello' },
    { kind: 'tool', name: 'drifted' },
  ]);
});
