import { type ComponentProps, lazy, Suspense } from 'solid-js';

// Behind tabs that many a visit does not open.
const Model = lazy(async () => ({ default: (await import('./model-view.tsx')).ModelView }));
const Script = lazy(async () => ({ default: (await import('./model-view.tsx')).ScriptView }));
const Plan = lazy(async () => ({ default: (await import('./plan/plan-pane.tsx')).PlanPane }));

export const ModelView = (props: ComponentProps<typeof Model>) => (
  <Suspense>
    <Model {...props} />
  </Suspense>
);
export const ScriptView = (props: ComponentProps<typeof Script>) => (
  <Suspense>
    <Script {...props} />
  </Suspense>
);
export const PlanPane = (props: ComponentProps<typeof Plan>) => (
  <Suspense>
    <Plan {...props} />
  </Suspense>
);
