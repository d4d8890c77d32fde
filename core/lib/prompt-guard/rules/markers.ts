import type { Family } from '../types.ts';

export const fakeTurn: Family = {
  family: 'fake_turn',
  patterns: [
    {
      id: 'fake_turn.chat_token',
      severity: 'high',
      kinds: ['text', 'sql', 'template'],
      description: 'A token of a chat template, such as <|im_start|> or [INST].',
      needs: [
        '<|',
        '[inst]',
        '[/inst]',
        '<<sys>>',
        '<</sys>>',
        '<start_of_turn>',
        '<end_of_turn>',
        '<｜',
        '[system_prompt]',
        '[available_tools]',
        '[tool_results]',
      ],
      pattern:
        /<[|｜] ?[a-z_▁]{2,40} ?[|｜]>|\[\/?inst\]|<<\/?sys>>|<(?:start|end)_of_turn>|\[\/?(?:system_prompt|available_tools|tool_results)\]/,
    },
    {
      id: 'fake_turn.role_tag',
      severity: 'high',
      description: 'A tag that begins or ends a turn or a tool result.',
      needs: ['<'],
      pattern:
        /<\/?\s?(?:system|user|assistant|human|tool_results?|tool_response|tool_output|function_output|next_task|new_task|commands?|orders|tool_call|function_calls?|function_results?|antml:[a-z_]{1,30})(?:\s[^>]{0,80})?>/,
    },
    {
      id: 'fake_turn.heading',
      severity: 'high',
      description: 'A heading such as "### System:" that begins a turn.',
      needs: ['###'],
      pattern:
        /#{3,6} {0,3}(?:system|instructions?|assistant|human|user|response|new instructions?)\b {0,3}(?:prompt|message|instructions?)? {0,3}:/,
    },
    {
      id: 'fake_turn.role_line',
      severity: 'medium',
      description: 'Lines that begin with the name of a role, as in a transcript.',
      needs: ['\nsystem', '\nassistant', '\nhuman', '\nai:', '\nuser'],
      pattern: /\n[ \t>*#-]{0,6}(?:system|assistant|human|ai)[* ]{0,3}:[* ]{0,3}\S/,
    },
    {
      id: 'fake_turn.json',
      severity: 'high',
      description: 'A message of a chat written as JSON.',
      needs: ['role'],
      pattern: /["']role["']\s?:\s?["'](?:system|developer|assistant)["']\s?,\s?["']content["']\s?:/,
    },
  ],
};

export const delimiter: Family = {
  family: 'delimiter',
  patterns: [
    {
      id: 'delimiter.end_of',
      severity: 'high',
      kinds: ['text', 'sql', 'template'],
      description: 'A line that pretends to end the description, document or prompt.',
      needs: ['end of', 'end system', 'end prompt', 'begin new', 'end tool', 'end instructions', 'end context'],
      pattern:
        /(?:[-=#*~_"'`<>[(]{3,20} {0,3}|[\n"'`] {0,3})(?:end|begin)(?: of)?(?: the)? (?:system |tool |new |user )?(?:prompt|description|document|instructions?|context|message|input|data|system|tool|conversation)\b/,
    },
    {
      id: 'delimiter.closing_tag',
      severity: 'high',
      description: 'A tag that closes the field the text stands in.',
      needs: ['</'],
      pattern:
        /<\/(?:description|tool|tools|tool_description|function|parameter|parameters|prompt|context|document|documents|instructions|input|arguments)\s?>/,
    },
    {
      id: 'delimiter.fence_and_order',
      severity: 'high',
      description: 'Quotes or a fence closed before new orders.',
      needs: ['"""', "'''", '```', '---', '==='],
      pattern:
        /(?:"""|'''|```|-{3,20}|={3,20})\s{0,10}(?:new |now )?(?:system|instructions?|assistant|commands?|orders?)(?: instructions?| prompt| message)? {0,3}:/,
    },
    {
      id: 'delimiter.new_instructions',
      severity: 'medium',
      description: 'A label such as "New instructions:".',
      needs: ['instruction', 'commands:', 'directive', 'rules:', 'task:', 'prompt:'],
      pattern:
        /\b(?:new|updated|real|actual|secret|hidden|additional|special|override) (?:system |assistant |ai |secret )?(?:instructions?|commands|directives?|rules|prompt|task)(?: for the (?:assistant|ai|model|agent))? {0,2}:/,
    },
  ],
};

export const hiddenMarkup: Family = {
  family: 'hidden_markup',
  patterns: [
    {
      id: 'hidden_markup.style',
      severity: 'high',
      kinds: ['text', 'sql', 'template'],
      description: 'Markup that hides its text from people.',
      needs: ['display', 'visibility', 'font-size', 'opacity', 'color:', 'hidden'],
      pattern:
        /<[a-z][^>]{0,200}(?:display\s?:\s?none|visibility\s?:\s?hidden|font-size\s?:\s?0|opacity\s?:\s?0(?:[;"' ]|\.0)|color\s?:\s?(?:transparent|white|#fff))/,
    },
    {
      id: 'hidden_markup.comment',
      severity: 'low',
      kinds: ['text'],
      description: 'An HTML comment: people do not see it where Markdown is rendered.',
      needs: ['<!--', '[//]: #'],
      pattern: /<!--|\n\[\/\/\]: #/,
    },
  ],
};

export const encoded: Family = {
  family: 'encoded',
  reported: [
    {
      id: 'encoded.instructions',
      severity: 'high',
      kinds: ['text', 'sql', 'template'],
      description: 'Instructions hidden in base64, hexadecimal, percent, entity or escape coding, ROT13 or reversed letters.',
    },
    {
      id: 'encoded.spaced_letters',
      severity: 'medium',
      description: 'A sentence of single letters without gaps between its words.',
    },
  ],
};

export const invisible: Family = {
  family: 'invisible',
  reported: [
    {
      id: 'invisible.tag_characters',
      severity: 'high',
      kinds: ['text', 'sql', 'template'],
      description: 'Unicode tag characters (U+E0000 block), which nobody sees.',
    },
    {
      id: 'invisible.variation_selectors',
      severity: 'high',
      kinds: ['text', 'sql', 'template'],
      description: 'Several variation selectors in a row, which can carry text.',
    },
    {
      id: 'invisible.bidi_override',
      severity: 'high',
      kinds: ['text', 'sql', 'template'],
      description: 'Characters that turn the order of letters (U+202D, U+202E).',
    },
    {
      id: 'invisible.bidi_isolate',
      severity: 'low',
      kinds: ['text', 'sql'],
      description: 'Embedding or isolating direction characters.',
    },
    {
      id: 'invisible.zero_width',
      severity: 'low',
      kinds: ['text', 'sql', 'template'],
      description: 'A few characters without width where no script needs them.',
    },
    {
      id: 'invisible.zero_width_run',
      severity: 'medium',
      kinds: ['text', 'sql', 'template'],
      description: 'Many characters without width where no script needs them.',
    },
    {
      id: 'invisible.control_characters',
      severity: 'medium',
      kinds: ['text', 'sql', 'template'],
      description: 'Control characters, such as those that recolour a terminal.',
    },
    {
      id: 'invisible.mixed_scripts',
      severity: 'low',
      kinds: ['text', 'sql', 'template'],
      description: 'Latin and Cyrillic letters in one word.',
    },
    {
      id: 'invisible.padding',
      severity: 'medium',
      kinds: ['text'],
      description: 'Text behind so many blanks or empty lines that it is out of sight.',
    },
  ],
};
