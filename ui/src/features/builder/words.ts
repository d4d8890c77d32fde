import { count } from '#ui/src/kernel/words.ts';

/** What the builders of tools, resources and prompts say. */
export const BUILDER_WORDS = {
  run: 'Run',
  cancel: 'Cancel',
  template: 'Transform',
  template_hint: 'A template over rows, params and vars. JSON output becomes structured content, anything else text.',
  template_placeholder: '{% for row in rows %}\n- {{ row.name }}\n{% endfor %}',
  parameters: 'Parameters',
  arguments: 'Arguments',
  name: 'Name',
  type: 'Type',
  required: 'Required',
  default: 'Default',
  description: 'Description',
  listing_size: (tokens: number) => `Adds about ${count(tokens)} tokens to every conversation.`,
  input_schema: 'Input schema',
  output_schema: 'Output schema',
} as const;
