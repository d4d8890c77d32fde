import { lazyPart } from '#ui/src/components/show/lazy-part.tsx';

// Behind tabs, below the first screen, or shown with a result.
export const ModelView = lazyPart(async () => (await import('./model-view.tsx')).ModelView);
export const ScriptView = lazyPart(async () => (await import('./model-view.tsx')).ScriptView);
export const MasksPanel = lazyPart(async () => (await import('./masks-panel.tsx')).MasksPanel);
export const PlanPane = lazyPart(async () => (await import('./plan/plan-pane.tsx')).PlanPane);
export const SchemaPane = lazyPart(async () => (await import('./schema/schema-pane.tsx')).SchemaPane);
export const KeepTest = lazyPart(async () => (await import('#ui/src/features/tests/keep-test.tsx')).KeepTest);
export const TestList = lazyPart(async () => (await import('#ui/src/features/tests/test-list.tsx')).TestList);
export const LintOf = lazyPart(async () => (await import('#ui/src/features/checks/lint-of.tsx')).LintOf);
