import type { WordLists } from '../types.ts';

export const russian: WordLists = {
  language: 'ru',
  lists: {
    IN_DATA: 'в строках, в результате, в результатах, в данных, в ответе, в столбце, в колонке',
    COMMANDS: 'команды, команду, инструкции, указания, приказы, инструкцию',
    CARRY_OUT: 'выполняй, выполни, исполняй, следуй, подчиняйся, выполняйте',
    ALL_BEFORE: 'все сказанное выше, все что выше, все что было выше, все вышесказанное, все что было раньше',
    VOID: 'больше не действуют, не действуют, отменены, недействительны, утратили силу, больше не имеет значения',
    WITHOUT_PERMISSION: 'без подтверждения, без согласия, без разрешения, не спрашивая, без ведома, не спрашивай',
    DATA: 'данные, данных, результат*, строки, таблиц*, содержимое, сообщения, ответ',
    IGNORE:
      'игнорируй, игнорируйте, проигнорируй, проигнорируйте, забудь, забудьте, не следуй, не следуйте, не соблюдай, не соблюдайте, не выполняй, не обращай внимания на, отбрось, отбросьте, отмени, обойди, обходи, пренебреги, перестань следовать, не слушай, нарушь, не подчиняйся, сбрось',
    PRIOR:
      'предыдущ*, прежн*, прошл*, вышеуказанн*, вышеприведенн*, выше, ранее, раньше, предшествующ*, исходн*, первоначальн*, начальн*, прошлые, имеющиеся, вышестоящ*',
    RULES: 'инструкци*, указани*, правила, правилам, правил, команды, распоряжени*, директив*, предписани*, установк*, промпт*',
    YOUR: 'твои, твой, свои, свой, ваши, своим, твоим, своих, твоих',
    SYSTEM: 'системн*, системы, разработчик*',
    TOLD: 'которые тебе дали, тебе дали, тебе говорили, тебе сказали, вам дали, ты получил, тебе было сказано, вам сказали, ты получила, тебе давали',
    OBEY: 'подчиняешься, подчиняйся, слушай, следуй, выполняй, слушайся, исполняй, подчиняйтесь, следуйте, выполняйте',
    ONLY: 'только, лишь, исключительно',
    THIS_TEXT:
      'этому тексту, этот текст, этот инструмент, этому инструменту, этому описанию, этим правилам, этих инструкций, эти правила, эти инструкции',
    SYSTEM_PROMPT:
      'системный промпт, системного промпта, системную инструкцию, системные инструкции, системное сообщение, системный запрос, скрытые инструкции, исходные инструкции, секретные инструкции, системную подсказку, начальные инструкции',
    SHOW: 'покажи, покажите, выведи, выведите, напечатай, раскрой, повтори, напиши, скажи, процитируй, отправь, перечисли, выдай, распечатай',
    VERBATIM: 'дословно, полностью, слово в слово, целиком',
    NOW_YOU:
      'теперь ты, отныне ты, с этого момента ты, ты теперь, вы теперь, теперь вы, с этой минуты ты, ты больше не, с этого момента вы, отныне вы',
    ACT_AS: 'представь что ты, притворись, веди себя как, действуй как, изображай, отвечай как, сыграй роль',
    UNRESTRICTED:
      'без ограничений, без каких либо ограничений, без всяких ограничений, без фильтров, без правил, без цензуры, никаких ограничений, неограниченн*, нет ограничений, нет правил, никогда не отказывает*, на любые запросы, без моральных, без любых ограничений',
    READ: 'прочитай, прочитайте, прочти, открой, загрузи, скопируй, передай, отправь, содержимое, вставь, считай',
    SEND: 'передай, передайте, отправь, отправьте, скопируй, скопируйте, вставь, добавь, перешли, помести, запиши, приложи, вложи',
    SECRET:
      'пароль, пароли, паролей, ключи api, ключ api, api ключ, api ключи, учетные данные, токены, секреты, секретные ключи, закрытый ключ',
    OWN: 'пользователя, свои, твои, из разговора, из переписки, из этого разговора, проекта',
    DONT: 'не, никогда не, без, нельзя, никогда',
    TELL: 'говори, говорите, сообщай, сообщайте, рассказывай, упоминай, упоминайте, информируй, информируйте, показывай, предупреждай, раскрывай, сообщать, говорить, рассказывать, уведомляй, упоминать, уведомлять',
    USER: 'пользовател*, об этом пользовател*, юзер*',
    UNAWARE:
      'без ведома пользователя, втайне от пользователя, скрытно от пользователя, тайком от пользователя, без согласия пользователя, без разрешения пользователя, незаметно для пользователя, чтобы пользователь не',
    SILENTLY: 'тайно, незаметно, скрытно, втайне, молча, тайком',
    DO: 'отправь, скопируй, выполни, вызови, передай, добавь, отправляй, перешли',
    CONVO: 'переписк*, разговор*, историю чата, история чата, диалог*, беседу, чат, сообщения пользователя, историю сообщений',
    WHOLE: 'всю, весь, вся, полностью, целиком, полную, все, полный',
    COPIED: 'отправляется, копируется, передается, пересылается',
    BEFORE_USE:
      'перед использованием, прежде чем использовать, перед вызовом, до вызова, прежде чем вызвать, прежде чем вызывать',
    FILE: 'файл, файлы, файла, папк*, каталог',
    ALWAYS: 'всегда, каждый раз, обязательно',
    CALL: 'вызывай, вызывайте, используй, используйте, вызови, применяй, вызвать, использовать, запускай',
    BEFORE: 'перед, сначала, до, прежде, вместо, первым',
    THIS_TOOL: 'этот инструмент, эту функцию, его',
    ANY_OTHER_TOOL:
      'любым другим инструментом, любого другого инструмента, всеми другими инструментами, других инструментов, другими инструментами, всеми остальными, любым другим, другие инструменты, любых других',
    DECODE: 'расшифруй, декодируй',
    EXECUTE: 'выполни, следуй, исполни',
  },
};

export const ukrainian: WordLists = {
  language: 'uk',
  lists: {
    IGNORE:
      'ігноруй, ігноруйте, проігноруй, забудь, забудьте, не виконуй, не дотримуйся, не слідуй, не зважай на, відкинь, обійди, знехтуй',
    PRIOR: 'попередн*, раніше, вище, минул*, початков*, вищезазначен*, колишн*',
    RULES: 'інструкці*, вказівк*, правила, правил, команди, настанов*, розпоряджен*, промпт*',
    YOUR: 'твої, свої, ваші',
    OBEY: 'виконуй, слухай, слідуй, дотримуйся, підкоряйся',
    ONLY: 'лише, тільки, виключно',
    THIS_TEXT: 'цей текст, цьому тексту, цей інструмент, цього опису, ці правила',
    SYSTEM_PROMPT: 'системний промпт, системні інструкції, системне повідомлення, приховані інструкції, системного промпту',
    SHOW: 'покажи, виведи, розкрий, повтори, напиши, надрукуй',
    NOW_YOU: 'тепер ти, відтепер ти, з цього моменту ти, ти тепер',
    UNRESTRICTED: 'без обмежень, без жодних обмежень, без фільтрів, без правил, без цензури, ніяких обмежень',
    SEND: 'надішли, передай, скопіюй, відправ, додай, встав',
    READ: 'прочитай, відкрий, скопіюй, вміст',
    SECRET: 'пароль, паролі, ключі api, облікові дані, секрети',
    DONT: 'не, ніколи не, без',
    TELL: 'кажи, повідомляй, розповідай, згадуй, інформуй, говори',
    USER: 'користувач*',
    CONVO: 'розмову, листування, історію чату, діалог, переписку',
    WHOLE: 'всю, усю, весь, увесь, повністю',
  },
};

export const polish: WordLists = {
  language: 'pl',
  lists: {
    IN_DATA: 'w wierszach, w wynikach, w danych, w wyniku, w kolumnie, w odpowiedzi',
    COMMANDS: 'polecenia, instrukcje, rozkazy, polecenie, instrukcję',
    CARRY_OUT: 'wykonuj, wykonaj, słuchaj, stosuj się do',
    ALL_BEFORE: 'wszystko powyżej, wszystko co powyżej, wszystko co było wcześniej',
    VOID: 'już nie obowiązują, nie obowiązują, są nieważne, nieważne, anulowane',
    WITHOUT_PERMISSION: 'bez pytania, bez zgody, bez potwierdzenia, nie pytając, bez zezwolenia',
    DATA: 'dane, wyniki, wynik, wiersze, tabelę, zawartość, wiadomości, odpowiedź',
    IGNORE:
      'ignoruj, zignoruj, zignorujcie, zapomnij, zapomnijcie, pomiń, odrzuć, lekceważ, zlekceważ, nie przestrzegaj, nie stosuj się do, nie słuchaj, obejdź, nie zważaj na, przestań przestrzegać, złam, nie wykonuj',
    PRIOR: 'poprzedni*, wcześniejsz*, powyższ*, dotychczasow*, uprzedni*, pierwotn*, wcześniej, wyżej, początkow*, istniejąc*',
    RULES:
      'instrukcj*, poleceni*, polecenia, poleceń, zasady, zasad, zasadach, reguły, reguł, regułach, wytyczn*, wskazówk*, dyrektyw*, prompt*',
    YOUR: 'twoje, swoje, twoich, swoich, twoim, swój, twój',
    SYSTEM: 'system*, deweloper*',
    TOLD: 'które otrzymałeś, które wcześniej otrzymałeś, otrzymałeś, ci powiedziano, ci podano, dostałeś, które dostałeś, które ci dano, ci przekazano',
    OBEY: 'słuchaj, wykonuj, przestrzegaj, stosuj się, rób co',
    ONLY: 'tylko, wyłącznie, jedynie',
    THIS_TEXT: 'ten tekst, tego tekstu, to narzędzie, tego narzędzia, ten opis, tego opisu, tych zasad, tych instrukcji',
    SYSTEM_PROMPT:
      'prompt systemowy, prompt systemu, instrukcje systemowe, instrukcję systemową, komunikat systemowy, ukryte instrukcje, początkowe instrukcje, promptu systemowego',
    SHOW: 'pokaż, wyświetl, ujawnij, wypisz, powtórz, napisz, podaj, wydrukuj, zacytuj',
    VERBATIM: 'słowo w słowo, dosłownie, w całości',
    NOW_YOU:
      'jesteś teraz, teraz jesteś, od teraz jesteś, od tej chwili jesteś, od tego momentu jesteś, nie jesteś już, odtąd jesteś',
    ACT_AS: 'udawaj, zachowuj się jak, wciel się w, odpowiadaj jako, działaj jako',
    UNRESTRICTED:
      'bez ograniczeń, bez żadnych ograniczeń, bez filtrów, bez zasad, bez cenzury, bez limitów, żadnych ograniczeń, nieograniczon*, nigdy nie odmawia*',
    READ: 'przeczytaj, odczytaj, otwórz, skopiuj, przekaż, wyślij, zawartość, wczytaj, wklej',
    SEND: 'wyślij, przekaż, skopiuj, dodaj, dołącz, prześlij, umieść, wklej, wstaw',
    SECRET: 'hasło, hasła, haseł, klucze api, klucz api, poświadczenia, dane logowania, sekrety, tokeny',
    OWN: 'użytkownika, swoje, twoje, z rozmowy, z tej rozmowy, projektu',
    DONT: 'nie, nigdy nie, bez, nigdy',
    TELL: 'mów, mówcie, informuj, wspominaj, ujawniaj, powiadamiaj, informowania, zdradzaj, pokazuj, ostrzegaj, powiedz',
    USER: 'użytkownik*',
    UNAWARE:
      'bez wiedzy użytkownika, bez zgody użytkownika, w tajemnicy przed użytkownikiem, za plecami użytkownika, tak aby użytkownik nie',
    SILENTLY: 'potajemnie, po cichu, skrycie, w tajemnicy, cicho, w ukryciu',
    DO: 'wyślij, skopiuj, wykonaj, wywołaj, przekaż, dodaj',
    CONVO: 'rozmow*, konwersacj*, historię czatu, historii czatu, czat, dialog',
    WHOLE: 'całą, cała, cały, całej, pełną, wszystkie, całość',
    COPIED: 'jest wysyłana, jest kopiowana, jest przekazywana, zostanie wysłana',
    BEFORE_USE: 'przed użyciem, przed wywołaniem, zanim użyjesz, zanim wywołasz',
    FILE: 'plik, pliki, pliku, katalog, folder',
    ALWAYS: 'zawsze, za każdym razem',
    CALL: 'wywołuj, używaj, wywołaj, użyj, korzystaj z, wywoływać, używać',
    BEFORE: 'przed, najpierw, zamiast, zanim',
    THIS_TOOL: 'to narzędzie, tego narzędzia, tę funkcję',
    ANY_OTHER_TOOL:
      'każdym innym narzędziem, innym narzędziem, innych narzędzi, wszystkimi innymi, innymi narzędziami, jakimkolwiek innym, każdym innym',
    DECODE: 'zdekoduj, odszyfruj',
    EXECUTE: 'wykonaj, postępuj',
  },
};

export const czech: WordLists = {
  language: 'cs',
  lists: {
    IGNORE: 'ignoruj, ignorujte, zapomeň, zapomeňte, nedbej na, neřiď se, nedodržuj, obejdi, přehlížej, nenásleduj, neposlouchej',
    PRIOR: 'předchozí*, dřívější*, předešl*, výše, původní*, dosavadní*, uveden*',
    RULES: 'pokyny, pokynů, instrukce, instrukcí, pravidla, pravidel, příkazy, směrnice, prompt*, zásady',
    YOUR: 'své, svoje, tvé, tvoje, vaše',
    OBEY: 'poslouchej, řiď se, plň, následuj',
    ONLY: 'pouze, jen, výhradně',
    THIS_TEXT: 'tento text, tímto textem, tento nástroj, tímto nástrojem, tento popis',
    SYSTEM_PROMPT: 'systémový prompt, systémové instrukce, systémové pokyny, skryté pokyny, skryté instrukce, systémovou zprávu',
    SHOW: 'ukaž, vypiš, zobraz, prozraď, zopakuj, napiš',
    NOW_YOU: 'nyní jsi, teď jsi, od teď jsi, od této chvíle jsi, odteď jsi',
    UNRESTRICTED: 'bez omezení, bez jakýchkoli omezení, bez filtrů, bez pravidel, bez cenzury, žádná omezení',
    DONT: 'bez, nikdy',
    TELL_DIRECT: 'neříkej, nesděluj, neinformuj, nezmiňuj, neřekni',
    TELL_NOT: 'neříkej, nesděluj, neinformuj, nezmiňuj, neprozrazuj, neupozorňuj',
    USER: 'uživatel*',
    CONVO: 'konverzaci, rozhovor, historii chatu, celou konverzaci',
    WHOLE: 'celou, celý, všechny, celé',
    SEND: 'pošli, zkopíruj, předej, přilož, vlož, odešli',
    SECRET: 'hesla, heslo, přihlašovací údaje, api klíče',
  },
};
