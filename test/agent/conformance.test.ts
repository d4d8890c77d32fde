import { afterAll, beforeAll, expect, test } from 'bun:test';
import { failuresOf, type Outcome, runSuite } from '#test/conformance/suite.ts';
import { type ListeningAgent, listeningAgent } from '#test/support/agent.ts';

/** Why a scenario of the official suite cannot pass here; with `checks` the others of the scenario must. */
interface Exception {
  readonly reason: string;
  readonly checks?: readonly string[];
}
type Exceptions = Readonly<Record<string, Exception>>;

const of = (reason: string, names: readonly string[]): Exceptions => Object.fromEntries(names.map((name) => [name, { reason }]));

const OWN_TOOLS = 'It calls a tool of the suite’s own; the endpoint has its own tools and no other.';
const TOOLS_ONLY = 'The endpoint serves tools only: no resources, prompts, completion or logging is declared.';

const COMMON: Exceptions = {
  ...of(OWN_TOOLS, [
    'tools-call-simple-text',
    'tools-call-image',
    'tools-call-audio',
    'tools-call-embedded-resource',
    'tools-call-mixed-content',
    'tools-call-error',
    'tools-call-with-progress',
    'json-schema-2020-12',
  ]),
  ...of(TOOLS_ONLY, [
    'completion-complete',
    'resources-list',
    'resources-read-text',
    'resources-read-binary',
    'resources-templates-read',
    'prompts-list',
    'prompts-get-simple',
    'prompts-get-with-args',
    'prompts-get-embedded-resource',
    'prompts-get-with-image',
  ]),
};

const EXCEPTIONS: Readonly<Record<string, Exceptions>> = {
  '2025-11-25': {
    ...COMMON,
    ...of(OWN_TOOLS, [
      'tools-call-with-logging',
      'tools-call-sampling',
      'tools-call-elicitation',
      'elicitation-sep1034-defaults',
      'elicitation-sep1330-enums',
    ]),
    ...of(TOOLS_ONLY, ['logging-set-level', 'resources-subscribe', 'resources-unsubscribe']),
  },
  '2026-07-28': {
    ...COMMON,
    ...of(OWN_TOOLS, [
      'input-required-result-basic-elicitation',
      'input-required-result-basic-sampling',
      'input-required-result-basic-list-roots',
      'input-required-result-request-state',
      'input-required-result-multiple-input-requests',
      'input-required-result-multi-round',
      'input-required-result-non-tool-request',
      'input-required-result-result-type',
      'input-required-result-tampered-state',
      'input-required-result-capability-check',
      'http-custom-header-server-validation',
    ]),
    ...of('Tasks are an extension that is not declared: every call answers by itself.', [
      'tasks-lifecycle',
      'tasks-capability-negotiation',
      'tasks-wire-fields',
      'tasks-request-state-removal',
      'tasks-mrtr-input',
      'tasks-request-headers',
      'tasks-dispatch-and-envelope',
      'tasks-required-task-error',
      'tasks-mrtr-composition',
    ]),
    'server-stateless': {
      reason: OWN_TOOLS,
      checks: [
        'sep-2575-http-server-no-independent-requests-on-stream',
        'sep-2575-missing-capability-http-400',
        'sep-2575-server-no-log-without-loglevel',
        'sep-2575-server-rejects-undeclared-capability',
      ],
    },
    caching: {
      reason: TOOLS_ONLY,
      checks: [
        'sep-2549-prompts-list-caching-hints',
        'sep-2549-resources-list-caching-hints',
        'sep-2549-resources-templates-list-caching-hints',
      ],
    },
  },
};
/** How many scenarios a set runs, those that it does not score included. */
const COUNTS: Readonly<Record<string, number>> = { '2025-11-25': 33, '2026-07-28': 50 };

let a: ListeningAgent;
let bearer: { url: string; stop(): Promise<void> }[] = [];
beforeAll(async () => {
  a = await listeningAgent({ SVC_AGENT_RATE_LIMIT: '100000' });
  const token = await a.token();
  bearer = [withBearer(a.s.url, token), withBearer(a.url, token)];
});
afterAll(async () => {
  for (const each of bearer) await each.stop();
  await a.stop();
});

/** The suite has no way to send a token: this adds it, and passes on everything else as it is. */
function withBearer(target: string, token: string) {
  const proxy = Bun.serve({
    port: 0,
    hostname: '127.0.0.1',
    idleTimeout: 0,
    async fetch(request) {
      const { pathname } = new URL(request.url);
      const headers = new Headers(request.headers);
      headers.set('authorization', `Bearer ${token}`);
      const body = request.method === 'POST' ? await request.arrayBuffer() : null;
      const { method, signal } = request;
      const answer = await fetch(`${target}${pathname}`, { method, headers, body, signal, redirect: 'manual' });
      const kept = new Headers(answer.headers);
      // The body arrives decoded.
      for (const name of ['content-encoding', 'content-length', 'transfer-encoding']) kept.delete(name);
      return new Response(answer.body, { status: answer.status, headers: kept });
    },
  });
  return { url: `http://127.0.0.1:${proxy.port}/agent-mcp/mcp`, stop: () => proxy.stop(true) };
}

const RUNS = ['front port', 'own port'].flatMap((port, index) => Object.keys(COUNTS).map((set) => [set, port, index] as const));

test.each(RUNS)(
  'every scenario of %s that can apply passes on the %s',
  async (set, _, index) => {
    const exceptions = EXCEPTIONS[set] ?? {};
    const url = bearer[index]?.url ?? '';
    const outcome = await runSuite(url, ['--requirements', set]);
    expect(outcome.size).toBe(COUNTS[set] ?? 0);
    const lost = surprises(outcome, exceptions);
    // The suite gives some answers a fixed time, which a busy machine may not have: those have another try, alone.
    const again = [];
    for (const { scenario } of lost) {
      again.push(...surprises(await runSuite(url, ['--scenario', scenario, '--spec-version', set]), exceptions));
    }
    expect(again).toEqual([]);
    // What passes after all is no exception.
    const idle = Object.keys(exceptions).filter((scenario) => failuresOf(outcome.get(scenario)).length === 0);
    expect(idle).toEqual([]);
  },
  90_000,
);

/** What failed and may not, and what may fail in other ways than it did. */
function surprises(outcome: Outcome, exceptions: Exceptions) {
  return [...outcome].flatMap(([scenario, checks]) => {
    const failures = failuresOf(checks);
    const exception = exceptions[scenario];
    const failed = [...new Set(failures.map(({ id }) => id))].toSorted();
    if (exception === undefined) return failed.length > 0 ? [{ scenario, failures }] : [];
    return exception.checks === undefined || Bun.deepEquals(failed, exception.checks) ? [] : [{ scenario, failures }];
  });
}
