import { Page } from '#ui/src/components/page.tsx';
import { Panel } from '#ui/src/components/panel.tsx';
import { LintList } from '#ui/src/features/checks/lint-list.tsx';
import { TestList } from '#ui/src/features/tests/test-list.tsx';

/** The state of every test, and what lint finds. */
export function Tests() {
  return (
    <Page title="Tests" lead="What tools, resources and prompts must return. A deploy runs the tests of what it changes.">
      <TestList />
      <Panel
        title="Lint findings"
        lead="What could mislead a model in the working copy. Open a definition to fix it with one click."
      >
        <LintList />
      </Panel>
    </Page>
  );
}
