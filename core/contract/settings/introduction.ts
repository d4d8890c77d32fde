import * as v from 'valibot';
import { textBetween } from '../fields.ts';
import { field } from '../marks.ts';

/** What clients and directories learn of the server before they list its tools. */
export const introduction = {
  instructions: field(v.nullable(textBetween(1, 2_048)), {
    label: 'Instructions',
    help: 'What models receive when they connect: which data this is and when to look here. Defaults to a sentence made from the tools.',
    control: 'area',
    default: null,
  }),
  skill: field(v.nullable(textBetween(1, 8_000)), {
    label: 'Skill',
    help: 'How to work with this data, for clients that read skills: which tool to use when, in which order, and what to watch for. Sluice adds a list of what the caller sees. Leave empty to offer no skill.',
    control: 'area',
    default: null,
  }),
  openai_apps_challenge: field(
    v.nullable(v.pipe(v.string(), v.regex(/^[\x21-\x7e]{1,512}$/, 'must have 1 to 512 visible ASCII characters'))),
    {
      label: 'OpenAI domain challenge',
      help: 'Served at /.well-known/openai-apps-challenge, where OpenAI checks that this domain is yours. Optional.',
      control: 'mono',
      default: null,
    },
  ),
};
