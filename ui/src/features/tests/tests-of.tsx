import type { JSX } from 'solid-js';
import { lazyPart } from '#ui/src/components/show/lazy-part.tsx';
import type { TestedKind } from '#core/contract/definitions/tests.ts';

const TestList = lazyPart(async () => (await import('./test-list.tsx')).TestList);

/** The tests of a stored definition; undefined while it is new. */
export const testsOf = (
  kind: TestedKind,
  stored: { readonly id: string; readonly name: string } | undefined,
): (() => JSX.Element) | undefined =>
  stored === undefined ? undefined : () => <TestList owner={{ kind, id: stored.id }} owner_name={stored.name} />;
