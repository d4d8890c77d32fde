import { APIS, type Json, type Offer } from './model-apis.ts';

/**
 * A model with a script, for clients that need one: it calls one tool as soon as it is offered, and says `SAID` when it has
 * the result.
 */
export interface Model {
  readonly url: string;
  /** The tools that were offered to the model, by the names the client gave them, with the schemas it made of ours. */
  readonly offered: Map<string, unknown>;
  /** What the client handed back as the results of tool calls. */
  readonly results: string[];
  stop(): Promise<void>;
}

export interface ToolCall {
  /** As the server calls it; clients put their name of the server before it. */
  readonly name: string;
  readonly arguments: Readonly<Record<string, unknown>>;
}

export const SAID = 'These are the products.';

/** Listens on a free port of this machine. */
export function scriptedModel(call: ToolCall): Model {
  const offered = new Map<string, unknown>();
  const results: string[] = [];
  const server = Bun.serve({
    port: 0,
    hostname: '127.0.0.1',
    async fetch(request) {
      const { pathname } = new URL(request.url);
      const api = APIS.find(({ path }) => path.test(pathname));
      if (request.method !== 'POST' || api === undefined)
        return Response.json({ error: 'Not part of the script.' }, { status: 404 });
      const body: Json = await request.json();
      const offers = api.offers(body);
      for (const { name, schema } of offers) offered.set(name, schema);
      const returned = api.results(body);
      results.push(...returned.map((result) => (typeof result === 'string' ? result : JSON.stringify(result))));
      const tool = offers.find(({ name }) => name.endsWith(call.name));
      if (tool === undefined || returned.length > 0) return stream(api.say(SAID));
      return stream(api.call(tool, { ...switchesOf(tool), ...call.arguments }));
    },
  });
  return { url: server.url.origin, offered, results, stop: () => server.stop(true) };
}

/** A model fills in the switches that a client adds to the tools of a server. */
function switchesOf({ schema }: Offer): Json {
  const { properties = {} } = schema as { properties?: Record<string, { type?: unknown }> };
  const switches = Object.entries(properties).filter(([, { type }]) => type === 'boolean');
  return Object.fromEntries(switches.map(([name]) => [name, false]));
}

const stream = (events: readonly Json[]): Response =>
  new Response(events.map((event) => `${eventLine(event)}data: ${JSON.stringify(event)}\n\n`).join(''), {
    headers: { 'content-type': 'text/event-stream' },
  });
const eventLine = ({ type }: Json): string => (typeof type === 'string' ? `event: ${type}\n` : '');
