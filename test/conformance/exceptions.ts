/** Why a scenario of the official suite, or some of its checks, cannot pass with definitions backed by SQL. */
export interface Exception {
  readonly reason: string;
  /** The checks that fail; absent: at least one does, whichever. */
  readonly checks?: readonly string[];
}
type Exceptions = Readonly<Record<string, Exception>>;

const of = (reason: string, names: readonly string[]): Exceptions => Object.fromEntries(names.map((name) => [name, { reason }]));

const COMMON: Exceptions = {
  ...of('A tool returns text, rows, an image or audio: no return type embeds a resource or mixes kinds of content.', [
    'tools-call-embedded-resource',
    'tools-call-mixed-content',
  ]),
  ...of('The messages of a prompt are templates, and what a template makes is text.', [
    'prompts-get-embedded-resource',
    'prompts-get-with-image',
  ]),
};

const SCHEMA = of('An input schema is made from the declared parameters, which know no references and no conditions.', [
  'json-schema-2020-12',
]);

const ASKS_ONE =
  'A tool asks for arguments that were left out and whether it may write, by forms of its own: no sampling, no roots, no defaults or titles in them, and no prompt asks.';

/** By the name of the set, as the suite calls it. */
export const EXCEPTIONS: Readonly<Record<string, Exceptions>> = {
  '2025-06-18': { ...COMMON, ...of(ASKS_ONE, ['tools-call-sampling']) },
  '2025-11-25': {
    ...COMMON,
    ...SCHEMA,
    ...of(ASKS_ONE, ['tools-call-sampling', 'elicitation-sep1034-defaults', 'elicitation-sep1330-enums']),
  },
  '2026-07-28': {
    ...COMMON,
    ...SCHEMA,
    ...of(ASKS_ONE, [
      'input-required-result-basic-elicitation',
      'input-required-result-basic-sampling',
      'input-required-result-basic-list-roots',
      'input-required-result-multiple-input-requests',
      'input-required-result-non-tool-request',
      'input-required-result-capability-check',
    ]),
    'server-stateless': {
      reason: 'The tool of the suite lacks sampling. Ours lack only forms, which the error names in its place.',
      checks: ['sep-2575-server-rejects-undeclared-capability'],
    },
    ...of('No parameter is mirrored into a header: that is optional, and would hand arguments to every proxy on the way.', [
      'http-custom-header-server-validation',
    ]),
    ...of('The tasks extension is not offered: a call ends within its time limit and is answered then.', [
      'tasks-lifecycle',
      'tasks-capability-negotiation',
      'tasks-wire-fields',
      'tasks-request-state-removal',
      'tasks-mrtr-input',
      'tasks-request-headers',
      'tasks-dispatch-and-envelope',
      'tasks-required-task-error',
      'tasks-mrtr-composition',
    ]),
  },
};
