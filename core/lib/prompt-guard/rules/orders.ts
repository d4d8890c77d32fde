import type { Family } from '../types.ts';

export const override: Family = {
  family: 'override',
  patterns: [
    {
      id: 'override.ignore_previous',
      severity: 'high',
      kinds: ['text', 'sql', 'template'],
      description: 'Asks to ignore or forget the instructions that came before.',
      needs: ['ignor', 'disregard', 'forget', 'vergiss', 'oubli', 'olvid', 'missachte', 'dimentica', '忽略', '無視'],
      pattern:
        /\b(?:ignore|disregard|forget) (?:all |any |everything in )?(?:of )?(?:the |your |my |these )?(?:previous|prior|earlier|above|preceding|foregoing)(?: system| safety| developer)? (?:instructions?|rules|directions|guidelines|prompts?|messages?)\b|\b(?:ignoriere|vergiss|missachte) (?:alle )?(?:deine |die )?(?:vorherigen|bisherigen|vorigen|fruheren) (?:anweisungen|regeln|vorgaben)|\b(?:ignore[rsz]?|oublie[rsz]?) (?:toutes )?(?:les |tes |vos )?(?:instructions|consignes|regles) (?:precedentes|anterieures)|\b(?:ignora|olvida|dimentica) (?:todas |tutte )?(?:las |le )?(?:instrucciones|reglas|istruzioni|regole) (?:anteriores|previas|precedenti)|忽略(?:之前|以上|先前|前面)?的?所有?(?:之前|以上|先前|前面)?的?(?:指令|指示|说明)/,
    },
  ],
};

export const secrets: Family = {
  family: 'secret_exfiltration',
  patterns: [
    {
      id: 'secret_exfiltration.file',
      severity: 'high',
      kinds: ['text', 'sql', 'template'],
      description: 'Names a file that holds keys or passwords, such as one below ~/.ssh.',
      needs: ['/.', 'id_', '/etc/'],
      pattern:
        /(?:~|\$home|\/root|\/home\/[\w.-]{1,40})\/\.(?:ssh|aws|gnupg|kube|docker|netrc|pgpass|git-credentials|npmrc|config\/gcloud)\b|\bid_(?:rsa|dsa|ecdsa|ed25519)\b|\/etc\/(?:shadow|sudoers)\b/,
    },
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

export const poisoning: Family = {
  family: 'tool_poisoning',
  patterns: [
    {
      id: 'tool_poisoning.hide_from_user',
      severity: 'high',
      description: 'Asks the model to keep something from the user.',
      needs: [
        'user',
        'nutzer',
        'anwender',
        'utilisateur',
        'usuario',
        'usuário',
        'utente',
        'gebruiker',
        'kullanıcı',
        '用户',
        'ユーザー',
      ],
      pattern:
        /\b(?:do not|don't|never|must not|mustn't|should not|without|avoid|no need to) (?:ever )?(?:tell|mention|inform|notify|reveal|disclose|warn)(?:ing)? (?:(?:this|that|it|any of this|anything|the change|these instructions|this step)(?: about this)? )?(?:to )?(?:the |any )?(?:end )?users?\b(?! to\b)|\bhid(?:e|den) (?:this |it |all this |these \w{1,20} )?from (?:the )?users?\b|\b(?:sag|erzahl|verrat|teil|erwahn)\w{0,3} (?:es |das |dies )?(?:dem|den|der|gegenuber dem) (?:be)?(?:nutzer|anwender)n? (?:davon |darüber |daruber )?nicht|\b(?:ne|n') ?(?:le |la |en |l')?(?:dis|dites|parle|mentionne|revele|informe)[^.\n]{0,30} l'utilisateur|\bno (?:le |lo |se lo )?(?:digas|diga|menciones|informes|reveles|cuentes|avises)[^.\n]{0,30} usuario|\bnao (?:conte|diga|mencione|informe|revele)[^.\n]{0,30} usuario|\bnon (?:dire|dirlo|menzionare|informare|rivelare)[^.\n]{0,30} utente|\b(?:vertel|zeg|meld)[^.\n]{0,30} gebruiker[^.\n]{0,20} (?:niet|niets)\b|不要(?:告诉|通知|告知|提示)用户/,
    },
    {
      id: 'tool_poisoning.conversation',
      severity: 'high',
      description: 'Has the conversation copied into an argument or an answer.',
      needs: ['conversation', 'chat', 'message', 'gespr', 'conversacion', 'conversa', '对话'],
      pattern:
        /\b(?:entire|whole|full|complete|all (?:of )?(?:the |your )?(?:previous|earlier|prior)) (?:\w{1,20} )?(?:conversation|chat(?: history| log)?|message history|messages of (?:this|the) conversation)\b|\b(?:das|den) (?:ganze|gesamte|komplette|ganzen|gesamten|kompletten) (?:\w{1,20} )?(?:gesprach|chat|konversation)|\btoute la conversation|\btoda (?:la conversacion|a conversa)|(?:全部|整个|完整的?)(?:对话|聊天)/,
    },
    {
      id: 'tool_poisoning.argument',
      severity: 'high',
      description: 'Has the conversation, instructions, keys or a file copied into an argument.',
      needs: ['parameter', 'argument', 'field'],
      pattern:
        /\b(?:pass|put|paste|copy|include|insert|append|write|place|add|attach|fill|provide)\b[^.\n]{0,60}\b(?:conversation|chat history|(?:earlier|previous|prior) messages|system prompt|your instructions|private keys?|environment variables|contents? of (?:~|\/etc\/|\.env\b))[^.\n]{0,40}\b(?:in|into|as|to|via)\b[^.\n]{0,20}\b(?:parameter|argument|field)\b|\b(?:parameter|argument|field)\b[^.\n]{0,30}\b(?:must|has to|should|needs to) (?:contain|hold|include|carry)\b[^.\n]{0,40}\b(?:conversation|chat history|(?:earlier|previous|prior) messages|system prompt|your instructions|private keys?|environment variables|contents? of (?:~|\/etc\/|\.env\b))/,
    },
    {
      id: 'tool_poisoning.no_confirmation',
      severity: 'medium',
      description: 'Asks the model not to wait for the confirmation of the user.',
      needs: ['confirmation', 'permission', 'approval', 'consent'],
      pattern:
        /\b(?:do not|don't|never|no need to) (?:ask|wait|prompt|seek) (?:(?:the )?user )?(?:for )?(?:any |their |the user's |user )?(?:confirmation|permission|approval|consent)\b/,
    },
    {
      id: 'tool_poisoning.read_before_use',
      severity: 'high',
      description: 'Has a file or credentials read before the tool is used.',
      needs: ['before ', 'prior to '],
      pattern:
        /\b(?:before|prior to) (?:you )?(?:us(?:e|ing)|call(?:ing)?|run(?:ning)?|invok(?:e|ing)) (?:this|the|any) tool\b[^.\n]{0,60}\b(?:read|open|cat|load)\b[^.\n]{0,60}(?:\bfiles?\b|~\/|\/etc\/|\.env\b)|\b(?:before|prior to) (?:you )?(?:us(?:e|ing)|call(?:ing)?|run(?:ning)?|invok(?:e|ing)|answer(?:ing)?|respond(?:ing)?)\b[^.\n]{0,60}\b(?:read|open|cat|collect|gather|send|dump|scan)\b[^.\n]{0,60}(?:~\/|\/etc\/|\.env\b|\bcredentials\b|\bpasswords\b|\bprivate keys?\b|\bsecrets\b)/,
    },
    {
      id: 'tool_poisoning.order_in_sql',
      severity: 'high',
      kinds: ['sql'],
      description: 'A comment or string of a statement that begins with the name of a model and an order.',
      needs: ['ai', 'llm', 'model', 'assistant', 'agent', 'claude', 'gpt', 'bot'],
      pattern:
        /^\s{0,9}(?:ai|llm|model|assistant|agent|chatbot|bot|claude|chatgpt|gpt)s? ?[:,] {0,3}(?:please |you must |must |now |you should )?(?:call(?! cent)|run|execute|ignore|delete|drop|send|forward|print|read|reveal|forget|use|approve|copy|tell)\b/,
    },
    {
      id: 'tool_poisoning.tag',
      severity: 'high',
      description: 'A tag such as <IMPORTANT> or <SYSTEM> that lends orders weight.',
      needs: ['<', '[hidden', '[secret', '[system', '[important'],
      pattern:
        /[<[]\s?\/?\s?(?:important|system|secret|hidden|admin|instructions?|override|attention|critical|assistant[ _-]?instructions?|system[ _-]?(?:prompt|message|note|reminder|instructions?)|priority|urgent)\s?[>\]]/,
    },
    {
      id: 'tool_poisoning.tag_in_template',
      severity: 'medium',
      kinds: ['template'],
      description: 'A tag such as <IMPORTANT> together with orders that a template has no use for.',
      needs: ['<important', '<system', '<secret', '<hidden'],
      pattern:
        /<(?:important|system|secret|hidden)>[^<]{0,2000}(?:(?:do not|don't|never) (?:tell|mention|inform)|~\/\.|without (?:telling|asking)|send_email|forward these|ignore)/,
    },
  ],
};
