import { plural } from '#ui/src/kernel/words.ts';

/** What the builders of tools, resources and prompts say. */
export const BUILDER_WORDS = {
  run: 'Run',
  cancel: 'Cancel',
  parameters: 'Parameters',
  arguments: 'Arguments',
  name: 'Name',
  type: 'Type',
  required: 'Required',
  default: 'Default',
  description: 'Description',
  listing_size: (tokens: number) => `Adds about ${plural(tokens, 'token')} to every conversation.`,
  input_schema: 'Input schema',
  output_schema: 'Output schema',
} as const;
