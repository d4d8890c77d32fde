/** What entries of the audit log are about. No schema here, because the UI loads this file. */
export const AUDIT_KIND_CHOICES = {
  change: { label: 'Change', help: 'A definition, person, token or other record was created, changed or deleted.' },
  deploy: { label: 'Deploy', help: 'A version was deployed, restored or removed.' },
  call: { label: 'Call', help: 'A tool, resource or prompt was called, or a statement was run in the interface.' },
  refusal: { label: 'Refusal', help: 'A request was refused before it did anything.' },
  sign_in: { label: 'Sign-in', help: 'A person or an MCP client signed in or out, or could not.' },
  approval: { label: 'Approval', help: 'A person decided on a proposal or confirmed a call.' },
  export: { label: 'Export', help: 'The configuration, code or the audit log was exported.' },
  setting: { label: 'Setting', help: 'The settings were changed.' },
};
export type AuditKindName = keyof typeof AUDIT_KIND_CHOICES;
export const AUDIT_KINDS = Object.keys(AUDIT_KIND_CHOICES) as readonly AuditKindName[];
