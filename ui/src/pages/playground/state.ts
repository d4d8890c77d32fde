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
import type { Question, PersonAnswer } from '#ui/src/features/run/questions.ts';
import { expand, fieldsOfPrompt, fieldsOfSchema, fieldsOfTemplate } from '#ui/src/features/run/schema-fields.ts';
import { type Result, toResult } from '#ui/src/features/run/result.ts';
import { parseJson } from '#ui/src/kernel/json.ts';

export type Noun = 'tool' | 'resource' | 'template' | 'prompt';

/** A definition that the deployed server lists. */
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
  /** The server's list entry, which a model reads before it calls. */
  readonly listing: Members;
}

/** A completed call with its wire messages. */
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

export interface OpenQuestion extends Question {
  readonly answer: (said: PersonAnswer) => void;
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
  /** The newest run, or the selected one. */
  readonly shown: () => Run | undefined;
  readonly setEra: (era: Era) => void;
  readonly setToken: (token: string) => void;
  /** Calls as another caller; undefined: as the signed-in person. */
  readonly setCaller: (caller: object | undefined) => void;
  readonly setHost: (host: string | undefined) => void;
  /** Loads the lists of the server. */
  readonly load: () => Promise<void>;
  readonly run: (offer: Offer, values: Members) => Promise<Run | undefined>;
  readonly cancel: () => void;
  /** The question of the running tool before it writes, with the callback for the answer; null: unanswered. */
  readonly question: () => OpenQuestion | undefined;
  readonly show: (run: Run) => void;
  readonly forget: () => void;
  /** Completions for an argument of a prompt, from the server. */
  readonly complete: (offer: Offer, argument: string, value: string) => Promise<readonly string[]>;
  /** Aborts the running call, and ends the session of the server, if one is open. */
  readonly close: () => Promise<void>;
}

const MOST_RUNS = 30;
/** The list methods of the protocol and the kind of their items. */
const LISTS = [
  { noun: 'tool', method: 'tools/list', member: 'tools' },
  { noun: 'resource', method: 'resources/list', member: 'resources' },
  { noun: 'template', method: 'resources/templates/list', member: 'resourceTemplates' },
  { noun: 'prompt', method: 'prompts/list', member: 'prompts' },
] as const satisfies readonly { noun: Noun; method: string; member: string }[];

/** A storage slot of the playground. */
export interface Memory {
  read(): string | undefined;
  write(text: string | undefined): void;
}

interface PlaygroundOptions extends Pick<McpClientOptions, 'send' | 'onSessionEnd'> {
  /** Calls and their results, stored until the tab closes or the session ends. */
  readonly runs?: Memory;
  readonly now?: () => number;
}

/** The tone of a call's outcome. */
export const toneOf = ({ refusal, result }: Run): 'good' | 'warning' | 'bad' =>
  refusal === undefined && result?.is_error !== true
    ? 'good'
    : refusal === undefined || refusal.reason === 'aborted'
      ? 'warning'
      : 'bad';

/** Maximum characters of runs stored across a reload, newest first; a longer run is skipped. */
const MOST_CHARACTERS = 2_000_000;

const storedRuns = (memory: Memory | undefined) => (parseJson(memory?.read() ?? '') ?? []) as Run[];

function keepRuns(memory: Memory | undefined, runs: readonly Run[]): void {
  let left = MOST_CHARACTERS;
  const stored = runs.flatMap((run) => {
    // A run that is certainly too long is not serialized to find out.
    if (charactersOf(run) > left) return [];
    const text = JSON.stringify(run);
    if (text.length > left) return [];
    left -= text.length;
    return [text];
  });
  memory?.write(stored.length === 0 ? undefined : `[${stored.join(',')}]`);
}

/** Lower bound of the serialized length. */
const charactersOf = ({ exchanges, result }: Run): number =>
  exchanges.reduce((sum, { answer }) => sum + (answer?.body.length ?? 0), 0) +
  (result?.parts ?? []).reduce((sum, { data }) => sum + data.length, 0);

/** Calls the deployed server as a client would. */
export function createPlayground(options: PlaygroundOptions): Playground {
  const [era, setEra] = createSignal<Era>(ERAS[0]);
  const [token, setToken] = createSignal('');
  const [caller, setCaller] = createSignal<object>();
  const [host, setHost] = createSignal<string>();
  const [offers, setOffers] = createSignal<readonly Offer[]>();
  const [refusal, setRefusal] = createSignal<Refusal>();
  const [loading, setLoading] = createSignal(false);
  const stored = storedRuns(options.runs);
  const [runs, showRuns] = createSignal<readonly Run[]>(stored);
  const [shown, setShown] = createSignal<Run | undefined>(stored[0]);
  const setRuns = (list: readonly Run[]) => {
    showRuns(list);
    keepRuns(options.runs, list);
  };
  const [abort, setAbort] = createSignal<AbortController>();
  let exchanges: Exchange[] = [];
  const now = options.now ?? (() => performance.now());
  /** Milliseconds spent on questions during the call, which do not count as duration of the tool. */
  let question_ms = 0;
  let last_run = stored[0]?.id ?? 0;
  let loads = 0;

  const [question, setQuestion] = createSignal<OpenQuestion>();
  const onQuestion = (asking: Question) => {
    const { promise, resolve } = Promise.withResolvers<PersonAnswer>();
    const since = now();
    const answer = (said: PersonAnswer) => {
      // A second answer to the same question, for example after an abort, is not counted.
      if (question()?.answer === answer) question_ms += now() - since;
      setQuestion(undefined);
      resolve(said);
    };
    const ended = abort()?.signal;
    if (ended?.aborted === true) return Promise.resolve(null);
    ended?.addEventListener('abort', () => answer(null), { once: true });
    setQuestion({ ...asking, answer });
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
    // One after the other: the session has to be open before the second request.
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
      question_ms = 0;
      const answer = await ask(offer, values, mine.signal);
      last_run += 1;
      const run: Run = {
        id: last_run,
        offer,
        era: era(),
        values,
        at,
        ms: now() - began - question_ms,
        result: answer.ok ? toResult(answer.result) : undefined,
        refusal: answer.ok ? undefined : answer.refusal,
        exchanges: exchanges.filter(({ method }) => method !== 'completion/complete'),
      };
      exchanges = [];
      setRuns([run, ...runs()].slice(0, MOST_RUNS));
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

/** The earlier object if nothing changed, so that the form's input stays. */
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
