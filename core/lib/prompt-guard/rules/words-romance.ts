import type { WordLists } from '../types.ts';

export const french: WordLists = {
  language: 'fr',
  lists: {
    IN_DATA: 'dans les lignes, dans les résultats, dans le résultat, dans les données, dans la colonne, dans la réponse',
    COMMANDS: 'instruction, instructions, ordres, commandes, consignes, toute instruction',
    CARRY_OUT: 'exécute, suis, obéis, obéissez, exécutez, applique',
    ALL_BEFORE: 'tout ce qui précède, tout ce qui est au dessus, tout ce qui a été dit',
    VOID: 'ne compte plus, ne comptent plus, ne vaut plus, ne valent plus, annulé, annulées, ne s appliquent plus, nul, caduques, périmé',
    WITHOUT_PERMISSION:
      'sans demander l accord, sans demander la permission, sans demander confirmation, sans l accord, sans la permission, sans confirmation, sans l autorisation, sans demander l autorisation, sans demander l avis',
    DATA: 'données, résultats, résultat, lignes, table, contenu, messages, réponse',
    IGNORE: `ignore, ignorez, oublie, oubliez, néglige, négligez, contourne, contournez, outrepasse, outrepassez, fais abstraction, faites abstraction, ne tiens pas compte, ne tiens plus compte,
      ne tenez pas compte, ne tenez plus compte, ne respecte plus, ne respecte pas, ne respectez plus, ne respectez pas, ne suis plus, ne suis pas, ne suivez plus, ne suivez pas, n obéis plus, n obéis pas,
      passe outre, passez outre, désobéis, abandonne, abandonnez, efface, cesse de suivre, cessez de suivre, arrête de suivre, laisse tomber`,
    PRIOR:
      'précédent, précédente, précédents, précédentes, antérieures, antérieurs, ci dessus, initiales, initiaux, plus haut, existantes, reçues, auparavant, avant, données plus tôt',
    RULES: 'instructions, instruction, consignes, consigne, règles, directives, ordres, prompt',
    YOUR: 'tes, ton, ta, vos, votre',
    SAFETY: 'sécurité, de sécurité',
    SYSTEM: 'système, du système, du développeur',
    TOLD: 'qui vous ont été données, qu on vous a données, qui t ont été données, qu on t a données, on t a dit, on vous a dit, t a été dit, tu as reçues, vous avez reçues, tu as reçu, on t a donné, données auparavant, qui t ont été donnés',
    OBEY: 'suis, suivez, obéis, obéissez, respecte, exécute',
    ONLY: 'uniquement, seulement, exclusivement',
    THIS_TEXT:
      'cet outil, celles de cet outil, ce texte, cette description, ces instructions, ces règles, ce message, ce champ, à cet outil',
    SYSTEM_PROMPT:
      'prompt système, prompt du système, invite système, instructions système, message système, instructions cachées, instructions initiales, instructions secrètes, consignes initiales, prompt initial',
    SHOW: 'affiche, affichez, montre, montrez, révèle, révélez, donne, donnez, répète, répétez, imprime, écris, recopie, divulgue, cite, dis',
    VERBATIM: 'mot pour mot, intégralement, textuellement, intégralité, en entier',
    NOW_YOU:
      'tu es maintenant, à partir de maintenant tu es, vous êtes maintenant, désormais tu es, à partir de maintenant vous êtes, tu es désormais, dorénavant tu es, tu n es plus, à présent tu es, vous êtes désormais, maintenant tu es',
    ACT_AS: 'fais comme si, agis comme, agissez comme, comporte toi comme, joue le rôle, prétends être, fais semblant d être',
    UNRESTRICTED:
      'sans aucune restriction, sans restriction, sans restrictions, sans limites, sans limite, sans filtre, sans filtres, sans aucun filtre, sans règles, aucune restriction, sans censure, non censuré, aucune limite, sans aucune limite, sans éthique, ne refuse jamais, ne refusez jamais',
    READ: 'lis, lisez, ouvre, ouvrez, charge, copie, copiez, recopie, mets, ajoute, envoie, transmets, transmettez, envoyez, contenu de, le contenu de, contenu du, lire',
    SEND: 'envoie, envoyez, transmets, transmettez, mets, mettez, ajoute, ajoutez, copie, copiez, recopie, recopiez, joins, insère, place, inclus, incluez, fournis',
    SECRET:
      'mot de passe, mots de passe, clé api, clés api, clés d api, clé d api, identifiants, jetons, jeton d accès, clés secrètes, secrets, clé privée, clés privées',
    SECRET_FILE: 'fichier dotenv, clé ssh, clés ssh',
    OWN: 'de l utilisateur, tes, ton, de la conversation, du projet, de cette conversation, dans le paramètre, du client',
    DONT: 'ne, n, jamais, sans, pas',
    TELL: 'dis, dites, dire, parle, parlez, parler, informe, informez, informer, mentionne, mentionnez, mentionner, préviens, prévenez, révèle, avertis, avertir, prévenir, signale, montre',
    USER: 'l utilisateur, utilisateur, à l utilisateur, l usager, utilisateurs',
    UNAWARE:
      'à l insu de l utilisateur, sans que l utilisateur, sans l accord de l utilisateur, sans le consentement de l utilisateur, sans en informer',
    SILENTLY: 'discrètement, secrètement, en secret, silencieusement, en silence, en cachette, à l insu',
    DO: 'envoie, copie, exécute, appelle, transmets, ajoute, recopie, envoyer',
    CONVO:
      'conversation, historique, historique de la conversation, discussion, échanges, messages de l utilisateur, dialogue, l historique',
    WHOLE: 'toute, toute la, entière, complète, intégrale, tout, tous, complet, l intégralité de, intégralité',
    COPIED: 'est envoyé, est envoyée, est copié, est copiée, sont envoyés, est transmis, est transmise',
    BEFORE_USE:
      'avant d utiliser cet outil, avant d utiliser, avant d appeler, avant tout appel, avant l appel, avant d utiliser ceci',
    FILE: 'fichier, fichiers, dossier, répertoire',
    ALWAYS: 'toujours, systématiquement',
    CALL: 'appelle, appelez, utilise, utilisez, appeler, utiliser, appelé, lance',
    BEFORE: 'avant, d abord, en premier, à la place de',
    THIS_TOOL: 'cet outil, cette fonction, ceci',
    ANY_OTHER_TOOL:
      'tout autre outil, tous les autres outils, autres outils, les autres outils, un autre outil, n importe quel autre outil, aucun autre outil, autre outil',
    DECODE: 'décode, déchiffre',
    EXECUTE: 'exécute, suis, obéis',
  },
};

export const spanish: WordLists = {
  language: 'es',
  lists: {
    IN_DATA: 'en los resultados, en las filas, en los datos, en el resultado, en la columna, en la respuesta',
    COMMANDS: 'órdenes, instrucciones, comandos, instrucción, orden',
    CARRY_OUT: 'cumple, ejecuta, sigue, obedece, realiza',
    ALL_BEFORE: 'todo lo anterior, todo lo de arriba, todo lo dicho antes',
    VOID: 'queda anulado, quedan anuladas, ya no vale, ya no valen, ya no se aplica, ya no se aplican, anulado, anuladas, sin efecto',
    WITHOUT_PERMISSION:
      'sin pedir confirmación, sin pedir permiso, sin preguntar, sin permiso, sin autorización, sin el permiso, sin consultar, sin pedir autorización, sin confirmación',
    DATA: 'datos, resultados, resultado, filas, tabla, contenido, mensajes, respuesta',
    IGNORE: `ignora, ignore, ignorad, ignoren, olvida, olvídate, olvide, olvídese, olviden, desatiende, descarta, omite, salta, salte, no hagas caso, no haga caso, no sigas, no siga, no obedezcas, no respetes,
      no tengas en cuenta, no tenga en cuenta, deja de seguir, pasa por alto, haz caso omiso, sáltate, anula, elude, incumple`,
    PRIOR:
      'anterior, anteriores, previas, previa, previos, precedentes, de arriba, iniciales, originales, antes, existentes, recibidas, anteriormente',
    RULES: 'instrucciones, instrucción, reglas, órdenes, directrices, normas, indicaciones, directivas, consignas, prompt',
    YOUR: 'tus, tu, sus',
    SAFETY: 'seguridad, de seguridad',
    SYSTEM: 'sistema, del sistema, del desarrollador',
    TOLD: 'te dijeron, te han dicho, te dieron, te han dado, recibiste, has recibido, le dijeron, se te dio, te indicaron',
    OBEY: 'obedece, obedeces, sigue, obedecerás, cumple, haz lo que, ejecuta',
    ONLY: 'solo, sólo, únicamente, solamente, a partir de ahora',
    THIS_TEXT:
      'esta herramienta, a esta herramienta, esta descripción, a esta descripción, este texto, estas instrucciones, este mensaje, este campo, estas reglas',
    SYSTEM_PROMPT:
      'prompt del sistema, prompt de sistema, instrucciones del sistema, mensaje del sistema, instrucciones ocultas, instrucciones iniciales, instrucciones secretas, prompt inicial, indicaciones del sistema',
    SHOW: 'muestra, muéstrame, muestre, revela, revele, imprime, di, dime, repite, escribe, enseña, dame, copia, divulga, envía',
    VERBATIM: 'palabra por palabra, literalmente, textualmente, completo, íntegro',
    NOW_YOU:
      'ahora eres, a partir de ahora eres, desde ahora eres, eres ahora, de ahora en adelante eres, ya no eres, usted es ahora, ahora serás, a partir de ahora serás, desde este momento eres',
    ACT_AS: 'actúa como, compórtate como, finge ser, haz de cuenta, responde como, hazte pasar por',
    UNRESTRICTED:
      'sin restricciones, sin ninguna restricción, sin límites, sin filtros, sin filtro, sin reglas, sin censura, ninguna restricción, nunca rechaza, nunca rechazas, nunca se niega, sin ética, no tienes restricciones, sin limitaciones, nunca te niegas',
    READ: 'lee, lea, abre, carga, copia, pon, incluye, envía, pasa, contenido de, el contenido de, contenido del, leer',
    SEND: 'envía, envíe, manda, copia, copie, pasa, pon, ponga, añade, agrega, incluye, transmite, reenvía, adjunta, inserta',
    SECRET:
      'contraseña, contraseñas, clave api, claves api, claves de api, credenciales, claves privadas, clave privada, secretos, tokens',
    OWN: 'del usuario, tus, de la conversación, de esta conversación, del proyecto, del cliente',
    DONT: 'no, nunca, sin, jamás',
    TELL: 'digas, diga, informes, informe, menciones, mencione, cuentes, cuente, avises, avise, reveles, comuniques, informar, avisar, decir, mencionar, decirle, decírselo, notifiques, hables',
    USER: 'usuario, al usuario, el usuario, la usuaria, usuarios',
    UNAWARE:
      'sin que el usuario, sin el conocimiento del usuario, sin conocimiento del usuario, sin el consentimiento del usuario, sin permiso del usuario, a espaldas del usuario',
    SILENTLY: 'en secreto, silenciosamente, secretamente, en silencio, a escondidas, discretamente',
    DO: 'envía, copia, ejecuta, llama, manda, añade, reenvía, enviar',
    CONVO: 'conversación, historial, historial de la conversación, chat, diálogo, mensajes del usuario, historial del chat',
    WHOLE: 'toda, toda la, entera, completa, todo, todo el, íntegra, completo, todos',
    COPIED: 'es enviada, es enviado, se envía, se copia, se envían',
    BEFORE_USE: 'antes de usar esta herramienta, antes de usar, antes de llamar, antes de utilizar, antes de ejecutar',
    FILE: 'archivo, archivos, fichero, carpeta, directorio',
    ALWAYS: 'siempre, en todo caso',
    CALL: 'llama, usa, utiliza, llame, use, llamar, usar, invoca, ejecuta',
    BEFORE: 'antes, primero, en lugar de, en vez de, antes que, antes de',
    THIS_TOOL: 'esta herramienta, a esta herramienta, esta función, esta',
    ANY_OTHER_TOOL:
      'cualquier otra, cualquier otra herramienta, las demás herramientas, otras herramientas, todas las demás, ninguna otra herramienta, otra herramienta',
    DECODE: 'decodifica, descifra',
    EXECUTE: 'ejecuta, sigue, obedece',
  },
};

export const portuguese: WordLists = {
  language: 'pt',
  lists: {
    IN_DATA: 'nos resultados, nas linhas, nos dados, no resultado, na coluna, na resposta',
    COMMANDS: 'ordens, instruções, comandos, instrução',
    CARRY_OUT: 'execute, cumpra, siga, obedeça, realize',
    ALL_BEFORE: 'tudo o que foi dito, tudo acima, tudo o que está acima, tudo que veio antes',
    VOID: 'não valem mais, não vale mais, não se aplicam mais, anulado, anuladas, sem efeito',
    WITHOUT_PERMISSION:
      'sem pedir confirmação, sem pedir permissão, sem perguntar, sem autorização, sem consultar, sem permissão, sem confirmação',
    DATA: 'dados, resultados, resultado, linhas, tabela, conteúdo, mensagens, resposta',
    IGNORE:
      'ignore, ignora, ignorem, esqueça, esquece, esqueçam, desconsidere, desconsidera, descarte, desobedeça, não siga, não obedeça, não respeite, não sigas, pare de seguir, deixe de seguir, contorne, burle, despreze, anule',
    PRIOR: 'anterior, anteriores, prévias, prévios, acima, iniciais, originais, antes, precedentes, anteriormente, existentes',
    RULES: 'instruções, instrução, regras, ordens, diretrizes, orientações, normas, comandos, prompt',
    YOUR: 'suas, seu, sua, seus, tuas, teu',
    SAFETY: 'segurança, de segurança',
    SYSTEM: 'sistema, do sistema, do desenvolvedor',
    TOLD: 'que recebeu, que foi dito, foi dito antes, lhe disseram, te disseram, lhe foi dito, você recebeu, que lhe deram, te deram, lhe foram dadas, te foi dito, que recebeste',
    OBEY: 'obedeça, siga, cumpra, obedece, segue, faça o que, execute',
    ONLY: 'apenas, somente, só, unicamente, exclusivamente',
    THIS_TEXT:
      'esta ferramenta, a esta ferramenta, está escrito aqui, esta descrição, este texto, estas instruções, desta ferramenta, este campo, estas regras',
    SYSTEM_PROMPT:
      'prompt de sistema, prompt do sistema, instruções do sistema, mensagem do sistema, instruções ocultas, instruções iniciais, instruções secretas, prompt inicial',
    SHOW: 'mostre, mostra, revele, revela, imprima, exiba, repita, diga, escreva, envie, copie, divulgue',
    VERBATIM: 'palavra por palavra, literalmente, na íntegra, completo, integralmente',
    NOW_YOU:
      'a partir de agora você é, agora você é, você agora é, de agora em diante você é, você não é mais, tu és agora, a partir de agora és, agora és, doravante você é',
    ACT_AS: 'aja como, finja ser, comporte se como, responda como, atue como, faça de conta',
    UNRESTRICTED:
      'sem restrições, sem nenhuma restrição, sem limites, sem filtros, sem filtro, sem regras, sem censura, nenhuma restrição, nunca recusa, sem limitações, sem qualquer restrição, sem ética',
    READ: 'leia, lê, abra, carregue, copie, coloque, inclua, envie, passe, conteúdo de, o conteúdo de, conteúdo do',
    SEND: 'envie, mande, copie, coloque, inclua, passe, adicione, transmita, encaminhe, anexe, insira',
    SECRET:
      'senha, senhas, chave de api, chaves de api, chave api, credenciais, chaves privadas, chave privada, segredos, palavra passe',
    OWN: 'do usuário, suas, da conversa, desta conversa, do projeto, do utilizador',
    DONT: 'não, nunca, sem, jamais',
    TELL: 'conte, diga, informe, mencione, avise, revele, comunique, informar, avisar, contar, dizer, mencionar, notifique, fale',
    USER: 'usuário, ao usuário, o usuário, utilizador, ao utilizador, o utilizador',
    UNAWARE:
      'sem que o usuário, sem o conhecimento do usuário, sem conhecimento do usuário, sem o consentimento do usuário, sem permissão do usuário, sem que o utilizador',
    SILENTLY: 'em segredo, silenciosamente, secretamente, em silêncio, às escondidas, discretamente',
    DO: 'envie, copie, execute, chame, mande, adicione, encaminhe',
    CONVO: 'conversa, histórico, histórico da conversa, chat, diálogo, mensagens do usuário',
    WHOLE: 'toda, toda a, inteira, completa, todo, todo o, íntegra, completo, todas',
    COPIED: 'é enviada, é enviado, é copiada, é copiado',
    BEFORE_USE: 'antes de usar esta ferramenta, antes de usar, antes de chamar, antes de utilizar, antes de executar',
    FILE: 'arquivo, arquivos, ficheiro, pasta, diretório',
    ALWAYS: 'sempre',
    CALL: 'chame, use, utilize, chamar, usar, invoque, execute',
    BEFORE: 'antes, primeiro, em vez de, no lugar de',
    THIS_TOOL: 'esta ferramenta, esta função',
    ANY_OTHER_TOOL:
      'qualquer outra, qualquer outra ferramenta, outras ferramentas, todas as outras, nenhuma outra ferramenta, outra ferramenta, as demais ferramentas',
    DECODE: 'decodifique, decifre, descodifique',
    EXECUTE: 'execute, siga, obedeça',
  },
};

export const italian: WordLists = {
  language: 'it',
  lists: {
    IN_DATA: 'nei risultati, nelle righe, nei dati, nel risultato, nella colonna, nella risposta',
    COMMANDS: 'istruzioni, ordini, comandi, istruzione, comando',
    CARRY_OUT: 'esegui, segui, obbedisci, rispetta',
    ALL_BEFORE: 'tutto quello che, tutto ciò che precede, tutto quanto sopra, tutto ciò che',
    VOID: 'non vale più, non valgono più, annullato, annullate, non si applicano più, nullo',
    WITHOUT_PERMISSION:
      'senza chiedere conferma, senza chiedere, senza permesso, senza il permesso, senza autorizzazione, senza consultare, senza conferma',
    DATA: 'dati, risultati, risultato, righe, tabella, contenuto, messaggi, risposta',
    IGNORE:
      'ignora, ignorate, ignori, dimentica, dimenticate, dimentichi, trascura, scavalca, aggira, non seguire, non seguire più, non rispettare, non obbedire, non tenere conto, non tener conto, smetti di seguire, annulla, tralascia, lascia perdere',
    PRIOR: 'precedente, precedenti, sopra, iniziali, originali, prima, anteriori, esistenti, in precedenza, soprastanti',
    RULES: 'istruzioni, istruzione, regole, direttive, ordini, indicazioni, norme, linee guida, comandi, prompt',
    YOUR: 'tue, tuo, tuoi, tua, vostre',
    SAFETY: 'sicurezza, di sicurezza',
    SYSTEM: 'sistema, di sistema, del sistema, dello sviluppatore',
    TOLD: 'che ti hanno dato, ti hanno dato, che hai ricevuto, hai ricevuto, ti è stato detto, ti hanno detto, che ti sono state date, ti sono state date, ti sono stati dati',
    OBEY: 'segui, obbedisci, seguite, rispetta, esegui, fai ciò che',
    ONLY: 'solo, soltanto, solamente, unicamente, esclusivamente',
    THIS_TEXT:
      'quanto scritto qui, questo strumento, questa descrizione, questo testo, queste istruzioni, questo messaggio, a questo strumento, queste regole, questo campo',
    SYSTEM_PROMPT:
      'prompt di sistema, prompt del sistema, istruzioni di sistema, messaggio di sistema, istruzioni nascoste, istruzioni iniziali, istruzioni segrete, prompt iniziale',
    SHOW: 'mostra, mostrami, rivela, stampa, ripeti, scrivi, dimmi, elenca, divulga, invia, copia',
    VERBATIM: 'parola per parola, letteralmente, per intero, integralmente, completo',
    NOW_YOU:
      'ora sei, da ora in poi sei, adesso sei, sei ora, d ora in poi sei, da adesso sei, non sei più, a partire da ora sei, sei adesso',
    ACT_AS: 'fingi di essere, agisci come, comportati come, rispondi come, interpreta il ruolo',
    UNRESTRICTED:
      'senza restrizioni, senza alcuna restrizione, senza limiti, senza filtri, senza filtro, senza regole, senza censura, nessuna restrizione, non rifiuta mai, senza limitazioni, nessun limite, senza vincoli',
    READ: 'leggi, apri, carica, copia, metti, inserisci, invia, passa, contenuto di, il contenuto di, contenuto del',
    SEND: 'invia, manda, copia, metti, inserisci, passa, aggiungi, trasmetti, inoltra, allega, includi',
    SECRET: 'password, chiave api, chiavi api, credenziali, chiavi private, chiave privata, segreti, parola d ordine',
    OWN: 'dell utente, tue, della conversazione, di questa conversazione, del progetto',
    DONT: 'non, mai, senza',
    TELL: 'dire, dirlo, dica, dici, informare, menzionare, rivelare, avvisare, comunicare, parlare, parlarne, informi, raccontare, notificare',
    USER: 'utente, all utente, l utente, utenti',
    UNAWARE: 'senza che l utente, all insaputa dell utente, senza il consenso dell utente, senza il permesso dell utente',
    SILENTLY: 'di nascosto, segretamente, in silenzio, silenziosamente, in segreto',
    DO: 'invia, copia, esegui, chiama, manda, aggiungi, inoltra',
    CONVO: 'conversazione, cronologia, cronologia della chat, chat, dialogo, messaggi dell utente',
    WHOLE: 'tutta, tutta la, intera, completa, tutto, tutto il, intero, completo, tutti',
    COPIED: 'viene inviata, viene copiata, è inviata, viene inviato',
    BEFORE_USE: 'prima di usare questo strumento, prima di usare, prima di chiamare, prima di utilizzare, prima di eseguire',
    FILE: 'file, cartella, directory',
    ALWAYS: 'sempre',
    CALL: 'chiama, usa, utilizza, chiamare, usare, invoca, esegui',
    BEFORE: 'prima, per primo, al posto di, invece di',
    THIS_TOOL: 'questo strumento, questa funzione, questo tool',
    ANY_OTHER_TOOL:
      'qualsiasi altro, qualsiasi altro strumento, altri strumenti, tutti gli altri, nessun altro strumento, un altro strumento, ogni altro strumento',
    DECODE: 'decodifica, decifra',
    EXECUTE: 'esegui, segui, obbedisci',
  },
};
