export const WORDS = {
  note: 'Note',
  deploy: 'Deploy',
  version: 'Version',
  hosts: 'Hosts',
  // Versions
  activate: 'Restore this version',
  activate_title: (version: number) => `Restore version ${version}?`,
  activate_changes: 'What changes for clients',
  // Code
  live_version: (version: number) => `Version ${version}, live`,
  plain_version: (version: number) => `Version ${version}`,
} as const;
