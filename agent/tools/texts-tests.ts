import type { ToolText } from './texts.ts';

/** Texts about tests of definitions. */
export const TESTS = {
  list_tests: {
    title: 'List tests',
    effect: 'reads',
    description:
      'Lists tests of tools, resources and prompts, each with its newest result. Use it before you change a definition. At most 500 per page; filters: owner (tool:<id>), search, enabled. Example: {"search":"order"}.',
  },
  create_test: {
    title: 'Create a test',
    effect: 'adds',
    description:
      'Creates a test of a definition: arguments to call it with, and what must hold (expect: error, columns, absent_columns, rows, contains, equals, max_ms, max_bytes, max_tokens). Deploys of a change run it and are blocked while it fails. Try it with run_tests. owner.id may be a unique name. Example: {"owner":{"kind":"tool","id":"find_orders"},"name":"finds orders of customer 7","arguments":{"customer":7},"expect":{"rows":{"min":1},"columns":["id","total"]}}.',
  },
  update_test: {
    title: 'Change a test',
    effect: 'overwrites',
    description:
      'Changes the fields that you send; expect and arguments are replaced as a whole. Change a test only when the definition is meant to behave differently. Read it with list_tests and send its version. Example: {"test_id":"finds orders of customer 7","version":1,"expect":{"rows":{"min":1,"max":50}}}.',
  },
  delete_test: {
    title: 'Delete a test',
    effect: 'removes',
    description:
      'Deletes a test. Use it only when what it checks is no longer wanted; dry_run true only checks. To restore it, pass history_id of the answer to rollback. Example: {"test_id":"finds orders of customer 7"}.',
  },
  run_tests: {
    title: 'Run tests',
    effect: 'reads',
    description:
      'Runs tests by ids (or names), of one owner, or all enabled ones, against draft (the working copy), live, or a version. What writes is rolled back. Use it before deploy_server; failures say what does not hold. Example: {"owner":{"kind":"tool","id":"find_orders"}}.',
  },
} satisfies Record<string, ToolText>;
