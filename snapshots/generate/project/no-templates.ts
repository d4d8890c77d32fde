import type { Transformed } from '#core/lib/template/transform.ts';
import type { Prompt } from './definitions.ts';

/** For projects without templates and prompts. */
export const applyTemplate = (_template: string | null, _input: object): Transformed | null => null;
export const renderPrompt = (_prompt: Prompt, _args: object, _vars: object): { role: 'user' | 'assistant'; text: string }[] => [];
