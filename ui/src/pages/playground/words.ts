import type { Era } from '#ui/src/features/run/mcp-client.ts';
import type { Noun } from './state.ts';

export const NOUN_WORDS = {
  tool: 'Tools',
  resource: 'Resources',
  template: 'Resource templates',
  prompt: 'Prompts',
} as const satisfies Record<Noun, string>;

export const ERA_WORDS = {
  '2026-07-28': '2026-07-28',
  '2025-11-25': '2025-11-25',
} as const satisfies Record<Era, string>;
export const ERA_HINTS = {
  '2026-07-28': 'Without sessions',
  '2025-11-25': 'With a session',
} as const satisfies Record<Era, string>;
