import { type Component, lazy, Suspense } from 'solid-js';

/** A component whose code is loaded when it is first drawn; until then nothing stands in its place. */
export function lazyPart<P extends object>(load: () => Promise<Component<P>>): Component<P> {
  const Part = lazy(async () => ({ default: await load() }));
  return (props) => (
    <Suspense>
      <Part {...props} />
    </Suspense>
  );
}
