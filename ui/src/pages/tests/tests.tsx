import { Page } from '#ui/src/components/page.tsx';
import { TestList } from '#ui/src/features/tests/test-list.tsx';
import { WORDS } from '#ui/src/features/tests/words.ts';

/** The state of every test. */
export function Tests() {
  return (
    <Page title={WORDS.tests} lead="What tools, resources and prompts must give. Deploys run the tests of what changes.">
      <TestList />
    </Page>
  );
}
