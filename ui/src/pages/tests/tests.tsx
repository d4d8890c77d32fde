import { Page } from '#ui/src/components/page.tsx';
import { TestList } from '#ui/src/features/tests/test-list.tsx';

/** The state of every test. */
export function Tests() {
  return (
    <Page title="Tests" lead="What tools, resources and prompts must return. A deploy runs the tests of what it changes.">
      <TestList />
    </Page>
  );
}
