import type { Parameter } from '#core/contract/definitions/parameters.ts';
import { createSignal } from 'solid-js';
import {
  type Answer,
  createMcpClient,
  type Era,
  ERAS,
  type Exchange,
  type McpClientOptions,
  type Refusal,
} from '#ui/src/features/run/mcp-client.ts';
import type { Members } from '#core/lib/view/table.ts';
import type { Question, Said } from '#ui/src/features/run/questions.ts';
import { expand, fieldsOfPrompt, fieldsOfSchema, fieldsOfTemplate } from '#ui/src/features/run/schema-fields.ts';
import { type Result, toResult } from '#ui/src/features/run/result.ts';
import { parseJson } from '#ui/src/kernel/json.ts';

export type Noun = 'tool' | 'resource' | 'template' | 'prompt';

/** Something that the deployed server offers. */
export interface Offer {
  /** `tool:list_orders`, `template:shop://orders/{id}`. */
  readonly key: string;
  readonly noun: Noun;
  readonly name: string;
  readonly title: string | undefined;
  readonly description: string;
  /** Of a resource or a template. */
  readonly uri: string | undefined;
  readonly fields: readonly Parameter[];
  /** As the server lists it: what a model reads before it calls. */
  readonly listing: Members;
}

/** A call that was made, with everything that went over the wire for it. */
export interface Run {
  readonly id: number;
  readonly offer: Offer;
  readonly era: Era;
  readonly values: Members;
  readonly at: string;
  readonly ms: number;
  readonly result: Result | undefined;
  readonly refusal: Refusal | undefined;
  readonly exchanges: readonly Exchange[];
}

export interface Asked extends Question {
  readonly answer: (said: Said) => void;
}

export interface Playground {
  readonly era: () => Era;
  readonly token: () => string;
  readonly host: () => string | undefined;
  readonly offers: () => readonly Offer[] | undefined;
  readonly refusal: () => Refusal | undefined;
  readonly loading: () => boolean;
  readonly running: () => boolean;
  readonly runs: () => readonly Run[];
  /** The newest run, or the one that was chosen again. */
  readonly shown: () => Run | undefined;
  readonly setEra: (era: Era) => void;
  readonly setToken: (token: string) => void;
  /** Calls as somebody else; undefined: as oneself. */
  readonly setCaller: (caller: object | undefined) => void;
  readonly setHost: (host: string | undefined) => void;
  /** Reads what the server offers. */
  readonly load: () => Promise<void>;
  readonly run: (offer: Offer, values: Members) => Promise<Run | undefined>;
  readonly cancel: () => void;
  /** What the tool that runs asks before it writes, with the way to answer; null for the answer: it is left open. */
  readonly question: () => Asked | undefined;
  readonly show: (run: Run) => void;
  readonly forget: () => void;
  /** What an argument of a prompt may be, as the server proposes it. */
  readonly complete: (offer: Offer, argument: string, value: string) => Promise<readonly string[]>;
  /** Ends what runs, and the session of the server, if one is open. */
  readonly close: () => Promise<void>;
}

const KEPT_RUNS = 30;
/** Where the lists of the protocol are, and what an item becomes. */
const LISTS = [
  { noun: 'tool', method: 'tools/list', member: 'tools' },
  { noun: 'resource', method: 'resources/list', member: 'resources' },
  { noun: 'template', method: 'resources/templates/list', member: 'resourceTemplates' },
  { noun: 'prompt', method: 'prompts/list', member: 'prompts' },
] as const satisfies readonly { noun: Noun; method: string; member: string }[];

/** What the playground remembers, and where. */
export interface Memory {
  read(): string | undefined;
  write(text: string | undefined): void;
}

interface PlaygroundOptions extends Pick<McpClientOptions, 'send' | 'onSessionEnd'> {
  /** Calls and their results, for as long as the browser's tab and the session last. */
  readonly runs?: Memory;
  readonly now?: () => number;
}

/** How a call ended. */
export const toneOf = ({ refusal, result }: Run): 'good' | 'warning' | 'bad' =>
  refusal === undefined && result?.is_error !== true
    ? 'good'
    : refusal === undefined || refusal.reason === 'aborted'
      ? 'warning'
      : 'bad';

/** As many characters of calls are kept over a reload, of the newest first; one that alone is longer is left out. */
const KEPT_CHARACTERS = 2_000_000;

const storedRuns = (memory: Memory | undefined) => (parseJson(memory?.read() ?? '') ?? []) as Run[];

function keepRuns(memory: Memory | undefined, runs: readonly Run[]): void {
  let left = KEPT_CHARACTERS;
  const kept = runs.flatMap((run) => {
    // What alone is too long is not written out to find that out.
    if (charactersOf(run) > left) return [];
    const text = JSON.stringify(run);
    if (text.length > left) return [];
    left -= text.length;
    return [text];
  });
  memory?.write(kept.length === 0 ? undefined : `[${kept.join(',')}]`);
}

/** At least as many characters has a call when it is written out. */
const charactersOf = ({ exchanges, result }: Run): number =>
  exchanges.reduce((sum, { answer }) => sum + (answer?.body.length ?? 0), 0) +
  (result?.parts ?? []).reduce((sum, { data }) => sum + data.length, 0);

/** Calls what is deployed as a client would. */
export function createPlayground(options: PlaygroundOptions): Playground {
  const [era, setEra] = createSignal<Era>(ERAS[0]);
  const [token, setToken] = createSignal('');
  const [caller, setCaller] = createSignal<object>();
  const [host, setHost] = createSignal<string>();
  const [offers, setOffers] = createSignal<readonly Offer[]>();
  const [refusal, setRefusal] = createSignal<Refusal>();
  const [loading, setLoading] = createSignal(false);
  const kept = storedRuns(options.runs);
  const [runs, showRuns] = createSignal<readonly Run[]>(kept);
  const [shown, setShown] = createSignal<Run | undefined>(kept[0]);
  const setRuns = (list: readonly Run[]) => {
    showRuns(list);
    keepRuns(options.runs, list);
  };
  const [abort, setAbort] = createSignal<AbortController>();
  let exchanges: Exchange[] = [];
  const now = options.now ?? (() => performance.now());
  /** For how long a person has been asked during the call: that is no time of the tool. */
  let asked_ms = 0;
  let last_run = kept[0]?.id ?? 0;
  let loads = 0;

  const [question, setQuestion] = createSignal<Asked>();
  const onQuestion = (asked: Question) => {
    const { promise, resolve } = Promise.withResolvers<Said>();
    const since = now();
    const answer = (said: Said) => {
      // A second answer to the same question, such as a call that ended, counts once.
      if (question()?.answer === answer) asked_ms += now() - since;
      setQuestion(undefined);
      resolve(said);
    };
    const ended = abort()?.signal;
    if (ended?.aborted === true) return Promise.resolve(null);
    ended?.addEventListener('abort', () => answer(null), { once: true });
    setQuestion({ ...asked, answer });
    return promise;
  };
  const connect = (era: Era, host: string | undefined) =>
    createMcpClient({
      ...options,
      era,
      token,
      caller,
      host,
      onQuestion,
      onExchange: (exchange) => void exchanges.push(exchange),
    });
  let client = connect(ERAS[0], undefined);
  const reconnect = () => {
    void client.close();
    client = connect(era(), host());
    return load();
  };

  const load = async () => {
    loads += 1;
    const mine = loads;
    setLoading(true);
    const lists: Offer[] = [];
    // One after the other: a session has to be open before the second one.
    for (const { noun, method, member } of LISTS) {
      const answer = await client.list(method, member);
      if (mine !== loads) return;
      if (!answer.ok) {
        setRefusal(answer.refusal);
        setLoading(false);
        return;
      }
      lists.push(...(answer.items ?? []).map((item) => toOffer(noun, item)));
    }
    setRefusal(undefined);
    setOffers((before) => lists.map((offer) => sameAs(offer, before)));
    setLoading(false);
  };

  const ask = (offer: Offer, values: Members, signal: AbortSignal): Promise<Answer> => {
    const { noun, name, uri = '' } = offer;
    if (noun === 'tool') return client.request('tools/call', { name, arguments: values }, signal);
    if (noun === 'prompt') return client.request('prompts/get', { name, arguments: values }, signal);
    return client.request('resources/read', { uri: noun === 'template' ? expand(uri, values) : uri }, signal);
  };

  return {
    era,
    token,
    host,
    offers,
    refusal,
    loading,
    runs,
    shown,
    running: () => abort() !== undefined,
    setEra(next) {
      if (next === era()) return;
      setEra(next);
      void reconnect();
    },
    setToken(next) {
      setToken(next);
      void reconnect();
    },
    setCaller(next) {
      if (next === caller()) return;
      setCaller(next);
      void reconnect();
    },
    setHost(next) {
      setHost(next);
      void reconnect();
    },
    load,
    async run(offer, values) {
      if (abort() !== undefined) return undefined;
      const mine = new AbortController();
      setAbort(mine);
      exchanges = [];
      const at = new Date().toISOString();
      const began = now();
      asked_ms = 0;
      const answer = await ask(offer, values, mine.signal);
      last_run += 1;
      const run: Run = {
        id: last_run,
        offer,
        era: era(),
        values,
        at,
        ms: now() - began - asked_ms,
        result: answer.ok ? toResult(answer.result) : undefined,
        refusal: answer.ok ? undefined : answer.refusal,
        exchanges: exchanges.filter(({ method }) => method !== 'completion/complete'),
      };
      exchanges = [];
      setRuns([run, ...runs()].slice(0, KEPT_RUNS));
      setShown(run);
      setAbort(undefined);
      return run;
    },
    cancel: () => abort()?.abort(),
    question,
    show: (run) => void setShown(run),
    forget() {
      setRuns([]);
      setShown(undefined);
    },
    async complete({ noun, name, uri = '' }, argument, value) {
      const ref = noun === 'prompt' ? { type: 'ref/prompt', name } : { type: 'ref/resource', uri };
      const answer = await client.request('completion/complete', { ref, argument: { name: argument, value } });
      const completion = answer.ok ? (answer.result['completion'] as { values?: unknown } | undefined) : undefined;
      return Array.isArray(completion?.values) ? completion.values.map(String) : [];
    },
    close() {
      abort()?.abort();
      return client.close();
    },
  };
}

/** The object that stood for it before, when nothing changed: what a person has filled in stays. */
function sameAs(offer: Offer, before: readonly Offer[] = []): Offer {
  const known = before.find(({ key }) => key === offer.key);
  return known !== undefined && JSON.stringify(known.listing) === JSON.stringify(offer.listing) ? known : offer;
}

function toOffer(noun: Noun, listing: Members): Offer {
  const text = (field: string) => (typeof listing[field] === 'string' ? listing[field] : undefined);
  const name = text('name') ?? '';
  const uri = text('uri') ?? text('uriTemplate');
  return {
    key: `${noun}:${noun === 'tool' || noun === 'prompt' ? name : (uri ?? name)}`,
    noun,
    name,
    title: text('title'),
    description: text('description') ?? '',
    uri,
    fields: FIELDS[noun](listing),
    listing,
  };
}

const FIELDS: Readonly<Record<Noun, (listing: Members) => readonly Parameter[]>> = {
  tool: ({ inputSchema }) => fieldsOfSchema(inputSchema),
  prompt: ({ arguments: given }) => fieldsOfPrompt(given),
  template: ({ uriTemplate }) => fieldsOfTemplate(String(uriTemplate)),
  resource: () => [],
};
