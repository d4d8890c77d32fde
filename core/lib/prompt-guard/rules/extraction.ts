import type { Family } from '../types.ts';

export const promptLeak: Family = {
  family: 'prompt_leak',
  phrases: [
    {
      id: 'prompt_leak.system_prompt',
      severity: 'high',
      kinds: ['text', 'sql', 'template'],
      description: 'Asks the model to show its system prompt.',
      phrases: [
        'SHOW 4 YOUR 3 SYSTEM_PROMPT',
        'SHOW 3 SYSTEM_PROMPT 3 VERBATIM',
        'SYSTEM_PROMPT 3 VERBATIM',
        'SHOW 4 VERBATIM 4 SYSTEM_PROMPT',
        'YOUR 3 SYSTEM_PROMPT 5 SHOW_SOV',
        'YOUR 3 SYSTEM_PROMPT 5 SHOW',
        'REVEAL 3 SYSTEM_PROMPT',
        'SYSTEM_PROMPT 2 TOLD',
        'SYSTEM_PROMPT 5 VERBATIM 3 SHOW_SOV',
        'SYSTEM_PROMPT 4 SHOW_SOV',
        'SHOW 2 YOUR 1 RULES 3 VERBATIM',
        'SHOW 3 YOUR 2 PRIOR 1 RULES',
        'SHOW 4 SYSTEM_PROMPT 4 YOU_WERE',
      ],
    },
    {
      id: 'prompt_leak.yours',
      severity: 'medium',
      kinds: ['text', 'sql'],
      description: "Speaks of the model's own system prompt.",
      phrases: [
        'YOUR 0 SYSTEM_PROMPT',
        'SYSTEM_PROMPT 0 YOUR',
        'LEAK_VERB 1 YOUR 1 RULES',
        'LEAK_VERB 3 RULES 2 TOLD',
        'VERBATIM 1 RULES 1 TOLD',
        'VERBATIM 0 RULES 1 ON_YOU',
        'HIDDEN_PROMPT',
        'SHOW 6 YOUR_CONTEXT',
        'SEND 6 YOUR_CONTEXT',
        'SHOW 4 EXACT 1 RULES 2 TOLD',
      ],
    },
    {
      id: 'prompt_leak.text_above',
      severity: 'high',
      kinds: ['text', 'sql', 'template'],
      description: 'Asks the model to repeat the text above.',
      phrases: ['SHOW 2 ABOVE_ALL', 'REPEAT 1 ABOVE_ALL'],
    },
    {
      id: 'prompt_leak.mention',
      severity: 'low',
      kinds: ['text', 'sql'],
      description: 'Speaks of showing a system prompt.',
      phrases: ['SHOW 3 SYSTEM_PROMPT'],
    },
  ],
};

export const secrets: Family = {
  family: 'secret_exfiltration',
  phrases: [
    {
      id: 'secret_exfiltration.file',
      severity: 'high',
      description: 'Asks for a file that holds keys or passwords, such as one below ~/.ssh.',
      kinds: ['text', 'sql', 'template'],
      phrases: [
        'READ 5 SECRET_FILE',
        'SECRET_FILE 5 READ_SOV',
        'SECRET_FILE 8 SEND_SOV',
        'SEND 6 SECRET_FILE',
        'SECRET_FILE 3 READ',
      ],
    },
    {
      id: 'secret_exfiltration.own',
      severity: 'high',
      description: "Asks for the user's or the model's own passwords, keys or tokens.",
      phrases: [
        'SEND 3 OWN|OWN_BEFORE 3 SECRET',
        'SEND 4 SECRET 5 OWN',
        'CARRY 3 OWN|OWN_BEFORE 3 SECRET',
        'CARRY 4 SECRET 5 OWN',
        'OWN 2 SECRET 8 SEND_SOV',
        'OWN 2 SECRET 5 SEND',
        'SEND 6 CONVO 6 SECRET',
        'DUMP 4 SECRET',
        'SEND 4 YOUR 3 SECRET',
        'FILE 5 SECRET 6 SEND',
        'READ 5 FILE 8 SECRET',
        'SECRET 5 SEND_SOV 6 OUT',
      ],
    },
    {
      id: 'secret_exfiltration.environment',
      severity: 'high',
      description: 'Asks for environment variables or named keys.',
      phrases: ['SEND 5 ENV_SECRET', 'CARRY 5 ENV_SECRET', 'SHOW 3 ENV_SECRET 5 YOUR', 'READ 4 ENV_SECRET'],
    },
    {
      id: 'secret_exfiltration.ask_user',
      severity: 'high',
      description: 'Has the model ask the user for a password or key.',
      phrases: ['ASK_USER 2 SECRET'],
    },
  ],
  patterns: [
    {
      id: 'secret_exfiltration.command',
      severity: 'high',
      description: 'Asks for the output of a command of the shell.',
      needs: ['output of', 'result of', 'run `', 'execute `', '$(', 'curl ', 'wget '],
      pattern:
        /(?:output|result) of [`'"(]?(?:env|printenv|whoami|cat|ls|id|set|history|ps|netstat|uname|ifconfig|aws|kubectl|docker)\b[^.\n]{0,80}[`'")]|(?:run|execute) `(?:curl|wget|cat|env|printenv|bash|sh|nc|powershell|rm|scp)\b|\b(?:curl|wget) [^\n]{0,120}https?:|\$\((?:cat|env|curl|whoami|printenv)\b/,
    },
  ],
};

export const dataExfiltration: Family = {
  family: 'data_exfiltration',
  phrases: [
    {
      id: 'data_exfiltration.send_to_link',
      severity: 'high',
      description: 'Has data sent to an address on the web.',
      phrases: [
        'EXFIL|SEND 6 DATA 6 LINK',
        'IMAGE 2 LINK 8 CONVO',
        'LINK 4 FOLLOWED 3 DATA',
        'LINK 2 WHOSE 5 DATA',
        'DATA 3 SEND 4 LINK',
        'SEND 4 LINK 6 DATA',
        'EXFIL 4 LINK 6 FOLLOWED 3 DATA',
        'EXFIL 4 LINK 5 SECRET',
        'DATA 3 SEND_SOV 3 LINK',
        'LINK 5 SEND_SOV',
      ],
    },
    {
      id: 'data_exfiltration.template_to_link',
      severity: 'high',
      kinds: ['template'],
      description: 'A template that has secrets or the conversation sent to an address on the web.',
      phrases: ['EXFIL 8 SECRET 6 LINK', 'EXFIL 8 CONVO 6 LINK', 'EXFIL 4 LINK 6 SECRET', 'EXFIL 4 LINK 6 CONVO'],
    },
    {
      id: 'data_exfiltration.send_to_address',
      severity: 'medium',
      description: 'Has data sent to a fixed e-mail address.',
      phrases: ['EXFIL 6 DATA 5 ADDRESS', 'CHANGE 6 ADDRESS', 'ADDRESS 3 BCC', 'BCC 2 ADDRESS'],
    },
    {
      id: 'data_exfiltration.encode_in_image',
      severity: 'high',
      description: 'Has data put into the address of an image or link.',
      phrases: [
        'EXFIL 6 DATA 8 IMAGE 3 LINK',
        'EXFIL 6 CONVO 8 IMAGE',
        'CONVO 5 QUERY_STRING',
        'DATA 6 QUERY_STRING',
        'EXFIL 5 SECRET 8 IMAGE',
      ],
    },
    {
      id: 'data_exfiltration.word',
      severity: 'medium',
      description: 'Speaks of exfiltrating or leaking data.',
      phrases: ['EXFILTRATE 4 DATA'],
    },
  ],
  patterns: [
    {
      id: 'data_exfiltration.drop_site',
      severity: 'high',
      kinds: ['text', 'sql', 'template'],
      description: 'Names a site made to receive requests of others.',
      needs: [
        'webhook.site',
        'requestbin',
        'pipedream.net',
        'burpcollaborator',
        'oastify',
        'interact.sh',
        'oast.',
        'ngrok',
        'beeceptor',
        'requestcatcher',
        'dnslog',
        'canarytokens',
        'hookbin',
        'postb.in',
      ],
      pattern:
        /(?:https?:\/\/|\b)[\w.-]{0,80}(?:webhook\.site|requestbin|pipedream\.net|burpcollaborator|oastify|interact\.sh|oast\.(?:fun|me|pro|live|site|online)|ngrok(?:-free)?\.(?:io|app|dev)|beeceptor|requestcatcher|dnslog|canarytokens|hookbin|postb\.in)/,
    },
    {
      id: 'data_exfiltration.image_query',
      severity: 'high',
      kinds: ['text', 'sql'],
      description: 'A Markdown image or HTML image whose address takes data.',
      needs: ['](http', '<img', '](//'],
      pattern:
        /(?:!\[[^\]]{0,200}\]\((?:https?:)?\/\/|<img[^>]{0,200}src=["']?(?:https?:)?\/\/)[^\s)>"']{0,300}[?&/=](?:\{|\$|%7b|<|\[|data\b|conversation|secret|history|token|password|messages|chat|content\b|prompt)/,
    },
  ],
};
