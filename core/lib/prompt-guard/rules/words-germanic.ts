import type { WordLists } from '../types.ts';

export const german: WordLists = {
  language: 'de',
  lists: {
    TELL_NOT: 'verschweige, verheimliche',
    IN_DATA: 'in den zeilen, in den ergebnissen, in den daten, in der spalte, im ergebnis, in der antwort',
    COMMANDS: 'anweisung, anweisungen, befehle, befehl, aufträge',
    CARRY_OUT: 'führe, befolge, folge, gehorche',
    ALL_BEFORE: 'alles was vorher, alles vorherige, alles oben, alles bisherige, alles was bisher, alles was oben',
    VOID: 'hinfällig, ungültig, gelten nicht mehr, gilt nicht mehr, außer kraft, nichtig, aufgehoben',
    WITHOUT_PERMISSION: 'ohne zustimmung, ohne erlaubnis, ohne rückfrage, ohne bestätigung, ohne einwilligung',
    DATA: 'daten, ergebnis*, zeilen, tabelle, verlauf, inhalt*, nachrichten, antwort, kunden*',
    IGNORE: `ignoriere, ignorier, ignorieren sie, ignoriert, vergiss, vergesse, vergessen sie, missachte, missachten sie, missachtet, übergehe, umgehe, umgehen sie, überschreibe, verwirf,
      setze dich über, setz dich über, setzen sie sich über, befolge nicht, folge nicht, halte dich nicht, hör nicht auf, lass, beachte nicht, lösche, streiche, pfeif auf`,
    IGNORE_SOV:
      'nicht mehr, außer acht lassen, zu ignorieren, ignorieren, vergessen, nicht länger, nicht befolgen, nicht beachten',
    HEED: 'beachte, befolge, folge, halte dich an, gehorche, befolgen sie, beachten sie, halten sie sich an',
    PRIOR:
      'vorherig*, bisherig*, vorig*, früher*, obig*, vorangegangen*, vorangehend*, ursprünglich*, zuvor, vorher, bestehend*, oben, genannt*, anfänglich*, ersten',
    RULES:
      'anweisung, anweisungen, regeln, vorgaben, instruktionen, richtlinien, instruktion, vorschriften, systemprompt, systemanweisungen, systemvorgaben, weisungen, direktiven, befehle, prompt',
    YOUR: 'dein, deine, deinen, deiner, deinem, ihre, ihren, ihrem, des systems',
    SAFETY: 'sicherheits*',
    POLICY:
      'sicherheitsrichtlinien, sicherheitsregeln, inhaltsrichtlinien, inhaltsfilter, sicherheitsvorgaben, einschränkungen, beschränkungen',
    SYSTEM: 'system*, entwickler*, betreiber*',
    TOLD: 'dir vorher gesagt wurde, dir gesagt wurde, dir bisher gesagt wurde, man dir gesagt hat, du bisher, du bekommen hast, du erhalten hast, dir gegeben wurden, dir zuvor gesagt wurde, ihnen gesagt wurde',
    OBEY: 'folge, befolge, gehorche, gehorchst, folgst, gelten, gilt, höre auf, tu was',
    ONLY: 'nur, nur noch, ausschließlich, allein',
    THIS_TEXT:
      'diesem text, diesem werkzeug, diesem tool, dieser beschreibung, diese regeln, diesen anweisungen, dieses werkzeugs, diese anweisungen, hier steht, diesem feld, diesem prompt',
    SYSTEM_PROMPT:
      'system prompt, systemprompt, systemanweisung*, systemnachricht, system anweisung*, ursprünglichen anweisungen, geheimen anweisungen, versteckten anweisungen, systemvorgaben',
    SHOW: 'zeig, zeige, gib, verrate, nenne, drucke, wiederhole, offenbare, schreibe, liefere, zitiere, sende, geben sie, zeigen sie, verraten sie, wiederholen sie',
    VERBATIM: 'wortwörtlich, wörtlich, wort für wort, vollständig',
    NOW_YOU:
      'ab sofort bist du, du bist jetzt, du bist nun, von nun an bist du, ab jetzt bist du, du bist ab jetzt, du bist ab sofort, ab jetzt agierst du, jetzt bist du, sie sind jetzt, sie sind ab sofort, du bist nicht mehr, du bist kein',
    ACT_AS: 'tu so als, verhalte dich wie, spiele die rolle, agiere als, antworte als, gib dich als, verhalte dich als',
    UNRESTRICTED:
      'ohne einschränkung*, ohne jegliche einschränkung*, ohne beschränkung*, ohne filter, ohne regeln, uneingeschränkt*, unbeschränkt*, keine einschränkung*, keine regeln, keine beschränkung*, ohne grenzen, ohne jede einschränkung*, ohne moral*, ohne ethische*, unzensiert*, verweigerst nie, lehnt nie ab, keine grenzen',
    READ: 'lies, lese, lesen sie, öffne, lade, kopiere, füge, übergib, sende, schicke, inhalt von, den inhalt von, übermittle, hänge, lesen',
    SEND: 'schicke, sende, übergib, übermittle, füge, kopiere, trage, hänge, leite, übertrage, schick, senden sie, schicken sie, gib',
    SECRET: 'passwort, passwörter, kennwort, kennwörter, zugangsdaten, api schlüssel, schlüssel, geheimnisse, anmeldedaten',
    OWN: 'die der nutzer, die der benutzer, der nutzer genannt hat, vom nutzer, des benutzers, des nutzers, deine, aus dem gespräch, aus diesem gespräch, aus der unterhaltung, aus dem chat, vom benutzer, dieses rechners',
    TELL_DIRECT: 'sag, sage, sagen sie, erzähle, erzähl, verrate, teile, teil, berichte, informiere, erwähne, melde, zeige',
    USER: 'gegenüber dem anwender, gegenüber dem benutzer, dem anwender, dem benutzer, den benutzer, dem nutzer, den nutzer, der nutzer, der benutzer, benutzer, nutzer, anwender, dem anwender, der anwender, gegenüber dem nutzer',
    NOTHING: 'nicht, nichts, nie, niemals, kein wort',
    NOT_TELL_SOV:
      'nichts sagen, davon nichts sagen, nichts davon sagen, nicht sagen, nichts verraten, nichts davon, nicht mitteilen, nicht informieren, verschweigen, verheimlichen, nicht erwähnen, nichts mitteilen, verbergen, nicht zeigen, nicht erfahren, nichts erfahren, nichts merken, nicht wissen',
    UNAWARE:
      'ohne wissen des benutzers, ohne wissen des nutzers, ohne zustimmung des benutzers, ohne zustimmung des nutzers, ohne den benutzer zu informieren, ohne den nutzer zu informieren, ohne dass der nutzer, ohne dass der benutzer, ohne rückfrage beim nutzer, hinter dem rücken',
    SILENTLY: 'heimlich, unbemerkt, stillschweigend, im stillen',
    DO: 'ausführen, senden, schicken, führe, sende, kopiere, rufe, füge, übertrage, hänge, aufrufen, anhängen, kopieren, leite',
    CONVO:
      'chatverlauf, gesprächsverlauf, gespräch, unterhaltung, konversation, chat, nachrichtenverlauf, nachrichten des benutzers, nachrichten des nutzers, dialog',
    WHOLE: 'ganze*, gesamte*, komplette*, vollständige*, alle, bisherige*',
    COPIED: 'wird gesendet, wird mitgeschickt, wird kopiert, wird übertragen, wird verschickt',
    BEFORE_USE:
      'vor der nutzung, vor der verwendung, vor dem aufruf, vor jedem aufruf, bevor du dieses, vor gebrauch, vor nutzung, bevor du das werkzeug, bevor sie dieses',
    FILE: 'datei, dateien, verzeichnis, konfiguration*',
    ALWAYS: 'immer, stets, jedes mal, grundsätzlich',
    CALL: 'rufe, ruf, verwende, nutze, aufrufen, verwenden, benutze, aufgerufen',
    BEFORE: 'vor, zuerst, als erstes, anstelle, statt, bevor',
    THIS_TOOL: 'dieses werkzeug, dieses tool, diese funktion, es',
    ANY_OTHER_TOOL:
      'ander* werkzeug*, ander* tool*, aller anderen, allen anderen, jedem anderen werkzeug, jedem anderen tool, allen anderen werkzeugen, allen anderen tools, anderen werkzeugen, anderen tools, jedem anderen, jeder anderen funktion, kein anderes werkzeug, kein anderes tool',
    ADDRESS_AI: 'ki, ki assistent, an die ki, assistent, an das modell, hinweis an die ki, sprachmodell',
    DECODE: 'dekodiere, entschlüssle, entschlüssele',
    EXECUTE: 'führe, befolge, folge, ausführen',
  },
};

export const dutch: WordLists = {
  language: 'nl',
  lists: {
    IN_DATA: 'in de rijen, in de resultaten, in de gegevens, in het resultaat, in de kolom',
    COMMANDS: 'opdrachten, instructies, opdracht, instructie',
    CARRY_OUT: 'voer, volg, gehoorzaam',
    ALL_BEFORE: 'alles hierboven, al het bovenstaande, alles wat hiervoor',
    VOID: 'ongeldig, gelden niet meer, geldt niet meer, vervallen',
    WITHOUT_PERMISSION: 'zonder toestemming, zonder bevestiging, zonder goedkeuring, zonder te vragen',
    DATA: 'gegevens, resultaten, rijen, tabel, inhoud, berichten, antwoord, resultaat',
    IGNORE:
      'negeer, vergeet, veronachtzaam, omzeil, overschrijf, negeert u, sla, let niet op, volg niet, luister niet naar, schrap',
    IGNORE_SOV: 'niet meer, te negeren, negeren, niet langer, niet opvolgen, niet volgen',
    HEED: 'volg, gehoorzaam, houd je aan, luister naar',
    PRIOR:
      'vorige, eerdere, voorgaande, voorafgaande, bovenstaande, hierboven, oorspronkelijke, vroegere, bestaande, hiervoor, eerder, tot nu toe',
    RULES:
      'instructies, regels, aanwijzingen, richtlijnen, opdrachten, instructie, voorschriften, systeemprompt, systeeminstructies, prompt',
    YOUR: 'je, jouw, uw',
    SYSTEM: 'systeem*',
    TOLD: 'je hiervoor kreeg, je kreeg, je gekregen hebt, je hebt gekregen, je verteld is, je is verteld, je eerder hebt, je zijn gegeven',
    OBEY: 'volg, gehoorzaam, doe wat, luister',
    ONLY: 'alleen, enkel, uitsluitend',
    THIS_TEXT: 'deze tekst, dit hulpmiddel, deze tool, deze beschrijving, deze regels, dit veld',
    SYSTEM_PROMPT:
      'systeemprompt, systeem prompt, systeeminstructies, systeembericht, verborgen instructies, oorspronkelijke instructies',
    SHOW: 'toon, geef, laat, druk, herhaal, onthul, schrijf, stuur',
    VERBATIM: 'woord voor woord, letterlijk, volledig',
    NOW_YOU: 'je bent nu, vanaf nu ben je, jij bent nu, u bent nu, voortaan ben je, vanaf nu bent u, je bent vanaf nu',
    ACT_AS: 'doe alsof, gedraag je als, speel de rol',
    UNRESTRICTED:
      'zonder beperking*, zonder enige beperking*, zonder filter*, geen beperking*, zonder regels, onbeperkt*, geen regels, zonder restricties, ongecensureerd*, zonder grenzen, nooit weigert',
    READ: 'lees, open, laad, kopieer, voeg, stuur, geef, inhoud van, de inhoud van',
    SEND: 'stuur, verstuur, voeg, kopieer, geef, zet, plaats, verzend',
    SECRET: 'wachtwoord, wachtwoorden, inloggegevens, api sleutel, api sleutels, sleutels, geheimen',
    OWN: 'van de gebruiker, je, uit het gesprek, uit dit gesprek',
    TELL_DIRECT: 'vertel, zeg, meld, informeer, laat, noem, waarschuw',
    USER: 'de gebruiker, gebruiker, aan de gebruiker, tegen de gebruiker',
    NOTHING: 'niet, niets, nooit',
    NOT_TELL_SOV:
      'niet vertellen, niets vertellen, niet zeggen, niets zeggen, niet melden, niet laten weten, verzwijgen, verbergen, niet informeren',
    UNAWARE:
      'zonder medeweten van de gebruiker, zonder toestemming van de gebruiker, zonder de gebruiker te informeren, zonder dat de gebruiker, buiten medeweten',
    SILENTLY: 'stiekem, heimelijk, ongemerkt, in het geheim',
    DO: 'stuur, kopieer, voer, roep, verstuur, voeg',
    CONVO: 'gesprek, gespreksgeschiedenis, chatgeschiedenis, conversatie, chat',
    WHOLE: 'hele, volledige, gehele, complete, alle',
    COPIED: 'wordt meegestuurd, wordt verstuurd, wordt verzonden, wordt gekopieerd, wordt gestuurd',
    BEFORE_USE: 'voor gebruik, voordat je deze, voor het aanroepen, voordat je dit',
    FILE: 'bestand, bestanden, map',
    ALWAYS: 'altijd, steeds',
    CALL: 'roep, gebruik, aanroepen, gebruiken, aangeroepen',
    BEFORE: 'voor, eerst, voordat, in plaats van',
    THIS_TOOL: 'deze tool, dit hulpmiddel, deze functie, dit gereedschap',
    ANY_OTHER_TOOL:
      'elke andere tool, alle andere tools, andere tools, elk ander hulpmiddel, andere hulpmiddelen, geen andere tool, een andere tool',
  },
};

export const swedish: WordLists = {
  language: 'sv',
  lists: {
    IGNORE: 'ignorera, glöm, bortse från, strunta i, åsidosätt, följ inte, kringgå',
    PRIOR: 'tidigare, föregående, ovanstående, ursprungliga, ovan, befintliga',
    RULES: 'instruktioner, regler, anvisningar, riktlinjer, instruktionerna, reglerna, anvisningarna, systemprompten',
    YOUR: 'dina, din, ditt',
    OBEY: 'följ, lyd',
    ONLY: 'bara, endast',
    THIS_TEXT: 'den här texten, denna text, det här verktyget, den här beskrivningen, detta verktyg',
    SYSTEM_PROMPT: 'systemprompt, systemprompten, systeminstruktioner, dolda instruktioner',
    SHOW: 'visa, skriv, avslöja, upprepa, skicka',
    NOW_YOU: 'du är nu, från och med nu är du, nu är du',
    UNRESTRICTED: 'utan begränsning*, utan några begränsning*, utan filter, inga begränsning*, utan regler',
    DONT: 'inte, aldrig',
    TELL: 'berätta, säg, informera, nämn, meddela',
    TELL_DIRECT: 'berätta, säg, informera, nämn, meddela',
    NOTHING: 'inte, aldrig, ingenting',
    USER: 'användaren, för användaren, till användaren',
    CONVO: 'konversationen, samtalet, chatthistoriken, konversation',
    WHOLE: 'hela, all, alla',
    SEND: 'skicka, kopiera, lägg, bifoga',
    SECRET: 'lösenord, lösenorden, api nycklar, inloggningsuppgifter',
  },
};
