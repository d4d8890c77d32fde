import { lazyPart } from '#ui/src/components/show/lazy-part.tsx';

// Behind tabs that many a visit does not open.
export const ModelView = lazyPart(async () => (await import('./model-view.tsx')).ModelView);
export const ScriptView = lazyPart(async () => (await import('./model-view.tsx')).ScriptView);
export const PlanPane = lazyPart(async () => (await import('./plan/plan-pane.tsx')).PlanPane);
