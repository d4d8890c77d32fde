import type { ImportFault } from '#core/contract/transfer.ts';
import { plural } from '#ui/src/kernel/words.ts';

export const WORDS = {
  title: 'Import and export',
  lead: 'The whole configuration as one readable file: to keep, to compare, to move to another installation.',
  export_title: 'Export',
  export_text:
    'Connections, tools, resources, prompts and settings in a sorted JSON file that diffs well. Passwords and other secrets are left out.',
  export_action: 'Download the configuration',
  exported: (name: string) => `Saved ${name}.`,
  import_title: 'Import',
  drop: 'Drop an export here, or choose a file',
  drop_hint: 'Nothing is written before you have seen what it would change.',
  another: 'Choose another file',
  from: (date: string) => `Exported ${date}`,
  no_date: 'Without a date',
  mode: 'When a name exists already',
  merge: 'Leave it as it is',
  merge_hint: 'Only what is missing is added.',
  overwrite: 'Overwrite it',
  overwrite_hint: 'The file wins; stored secrets stay. History can take it back.',
  include: 'Server settings too',
  include_hint: 'Name, authentication, TLS, variables, guard and agent settings of the file.',
  checking: 'Checking the file',
  report: 'What the import will do',
  done_report: 'What the import did',
  noun: 'Kind',
  created: 'New',
  updated: 'Overwritten',
  skipped: 'Left',
  nothing: 'Nothing would change: everything in the file is here already.',
  errors_title: (count: number) => `${plural(count, 'fault')} in the file`,
  errors_text: 'An import is all or nothing. Correct these in the file and drop it again.',
  errors_truncated: 'Checking stopped here: there may be more faults.',
  warnings: (count: number) => plural(count, 'warning'),
  secrets: 'Needs secrets',
  secrets_text: 'An export holds no secrets. Enter these before what needs them can be used.',
  enter: 'Enter',
  apply: (count: number) => `Import ${plural(count, 'record')}`,
  applied: (count: number) => `Imported ${plural(count, 'record')}. They are live with the next deploy.`,
  undo: 'Undo',
  undone: 'The import was taken back.',
  to_deploy: 'See what a deploy will change',
  at: (index: number) => `number ${index + 1} in its list`,
} as const;

export const NOUN_WORDS = {
  connections: 'Connections',
  tools: 'Tools',
  resources: 'Resources',
  prompts: 'Prompts',
  server_config: 'Server settings',
} as const;

export const ONE: Readonly<Record<ImportFault['entity_type'], string>> = {
  connection: 'connection',
  tool: 'tool',
  resource: 'resource',
  prompt: 'prompt',
  server_config: 'server settings',
};
