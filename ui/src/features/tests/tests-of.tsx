import { type JSX, lazy, Suspense } from 'solid-js';
import type { TestedKind } from '#core/contract/definitions/tests.ts';

const TestList = lazy(async () => ({ default: (await import('./test-list.tsx')).TestList }));

/** The tests of a stored definition; undefined while it is new. */
export const testsOf = (
  kind: TestedKind,
  stored: { readonly id: string; readonly name: string } | undefined,
): (() => JSX.Element) | undefined =>
  stored === undefined
    ? undefined
    : () => (
        <Suspense>
          <TestList owner={{ kind, id: stored.id }} owner_name={stored.name} />
        </Suspense>
      );
