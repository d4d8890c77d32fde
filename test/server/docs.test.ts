import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import type { Browser } from 'playwright-core';
import { operations } from '#core/contract/index.ts';
import { fullPath, pathVariables } from '#core/contract/paths.ts';
import type { Access, Operation } from '#core/contract/operation.ts';
import { browserTest, openBrowser, openPage } from '#test/support/browser.ts';
import { type ListeningServer, listeningServer } from '#test/support/server.ts';

let s: ListeningServer;
let document: OpenApi;
beforeAll(async () => {
  s = await listeningServer();
  document = (await (await fetch(`${s.url}/api/openapi.json`)).json()) as OpenApi;
});
afterAll(() => s.stop());

type Json = Readonly<Record<string, unknown>>;

interface Described extends Json {
  readonly operationId: string;
  readonly tags: readonly string[];
  readonly summary: string;
  readonly security?: readonly Json[];
  readonly parameters: readonly {
    readonly name: string;
    readonly in: string;
    readonly required: boolean;
    readonly schema: Json;
  }[];
  readonly requestBody?: { readonly required: boolean; readonly content: Readonly<Record<string, { readonly schema: Json }>> };
  readonly responses: Readonly<
    Record<string, { readonly description: string; readonly content?: Readonly<Record<string, { readonly schema: Json }>> }>
  >;
}

interface OpenApi extends Json {
  readonly openapi: string;
  readonly info: { readonly title: string; readonly version: string };
  readonly paths: Readonly<Record<string, Readonly<Record<string, Described>>>>;
  readonly components: { readonly schemas: Json; readonly securitySchemes: Readonly<Record<string, Json>> };
}

const bodySchema = (described: Described | undefined): Json => described?.requestBody?.content['application/json']?.schema ?? {};

/** No operations: streams, and what only browsers visit. */
const STREAMS = [
  '/api/v1/audit/export',
  '/api/v1/changes',
  '/api/v1/deploy/logs',
  '/api/v1/playground/mcp',
  '/api/v1/auth/oidc/{id}/start',
  '/api/v1/auth/oidc/callback',
];
const described = (): [string, string, Described][] => all().filter(([path]) => !STREAMS.includes(path));
const all = (): [string, string, Described][] =>
  Object.entries(document.paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, described]): [string, string, Described] => [path, method, described]),
  );

/** Every schema below a value, with where it stands. */
function* schemasIn(value: unknown, place: string): Generator<[string, Json]> {
  if (typeof value !== 'object' || value === null) return;
  for (const [name, item] of Object.entries(value)) {
    if (name === 'schema') yield* schemas(item, `${place}.${name}`);
    else yield* schemasIn(item, `${place}.${name}`);
  }
}

function* schemas(schema: unknown, place: string): Generator<[string, Json]> {
  if (typeof schema === 'boolean') return;
  expect([place, typeof schema, Array.isArray(schema)]).toEqual([place, 'object', false]);
  const json = schema as Json;
  yield [place, json];
  for (const name of ['properties', 'patternProperties', '$defs']) {
    for (const [key, item] of Object.entries((json[name] ?? {}) as Json)) yield* schemas(item, `${place}.${name}.${key}`);
  }
  for (const name of ['items', 'additionalProperties', 'propertyNames', 'not']) {
    if (json[name] !== undefined) yield* schemas(json[name], `${place}.${name}`);
  }
  for (const name of ['anyOf', 'oneOf', 'allOf', 'prefixItems']) {
    if (json[name] === undefined) continue;
    expect([place, Array.isArray(json[name]) && json[name].length > 0]).toEqual([place, true]);
    for (const [index, item] of (json[name] as unknown[]).entries()) yield* schemas(item, `${place}.${name}.${index}`);
  }
}

const TYPES = ['string', 'number', 'integer', 'boolean', 'array', 'object', 'null'];
/** The credentials of each kind of access. */
const SCHEMES: Readonly<Record<Access, string[] | undefined>> = {
  public: undefined,
  session: ['session'],
  read: ['session', 'bearer'],
  write: ['session', 'bearer'],
  deploy: ['session', 'bearer'],
};
/** JSON Schema 2020-12, as far as the document uses it. */
const KEYWORDS = new Set(
  `type enum const anyOf oneOf allOf not items prefixItems properties required additionalProperties propertyNames minItems maxItems minLength
   maxLength pattern format minimum maximum exclusiveMinimum exclusiveMaximum multipleOf default description title readOnly $ref $defs`.split(
    /\s+/,
  ),
);

describe('the OpenAPI document', () => {
  test('has the fixed parts of version 3.1 and nothing unknown beside them', () => {
    expect(document.openapi).toMatch(/^3\.1\.\d+$/);
    expect(document.info).toMatchObject({ title: 'Sluice', version: expect.any(String) });
    const known = [
      'openapi',
      'info',
      'paths',
      'components',
      'servers',
      'tags',
      'security',
      'externalDocs',
      'jsonSchemaDialect',
      'webhooks',
    ];
    expect(Object.keys(document).filter((name) => !known.includes(name))).toEqual([]);
  });

  test('describes the live log and the playground, which are no operations', () => {
    expect(Object.keys(document.paths['/api/v1/changes']?.['get']?.responses ?? {})).toEqual(['101', 'default']);
    const logs = document.paths['/api/v1/deploy/logs']?.['get'];
    expect(Object.keys(logs?.responses['200']?.content ?? {})).toEqual(['text/event-stream']);
    expect(logs?.parameters.map(({ name }) => name)).toEqual(['level', 'source', 'since']);
    expect(Object.keys(document.paths['/api/v1/playground/mcp'] ?? {})).toEqual(['post', 'delete']);
  });

  test('describes the two addresses of a sign-in through an identity provider', () => {
    const visits = ['/api/v1/auth/oidc/{id}/start', '/api/v1/auth/oidc/callback'].map((path) => document.paths[path]?.['get']);
    expect(visits.map((visit) => Object.keys(visit?.responses ?? {}))).toEqual([
      ['302', '303', 'default'],
      ['302', '303', 'default'],
    ]);
  });

  test('describes what an error holds, in both of its forms', async () => {
    const response = await fetch(`${s.url}/api/v1/tools`, { headers: { accept: 'application/problem+json' } });
    const problem = (await response.json()) as Json;
    const { properties, required } = document.components.schemas['Problem'] as { properties: Json; required: string[] };
    expect(Object.keys(problem).filter((name) => !Object.hasOwn(properties, name))).toEqual([]);
    expect(required.filter((name) => !Object.hasOwn(problem, name))).toEqual([]);
    expect((properties['code'] as { enum: string[] }).enum).toContain(problem['code'] as string);
    const fault = document.paths['/api/v1/tools']?.['get']?.responses['default'];
    expect(Object.keys(fault?.content ?? {})).toEqual(['application/json', 'application/problem+json']);
    expect(response.headers.has('x-request-id')).toBe(true);
  });

  test('says what a token may change, and who decides about a sign-in', () => {
    expect(document.paths['/api/v1/server/config']?.['patch']?.summary).toEndWith('only server_name and global_variables');
    expect(document.paths['/api/v1/oauth/requests/{id}']?.['post']?.['description']).toContain(
      'a person must be signed in there',
    );
  });

  test('describes every operation of the contract once, under its method and path', () => {
    const found = described().map(([path, method, { operationId }]) => `${method.toUpperCase()} ${path} ${operationId}`);
    const expected = (Object.entries(operations) as [string, Operation][]).map(
      ([name, { method, path }]) => `${method} ${fullPath(path)} ${name}`,
    );
    expect(found.sort()).toEqual(expected.sort());
    const ids = all().map(([, , { operationId }]) => operationId);
    expect(new Set(ids).size).toBe(ids.length);
    // Two templates that differ only in the names of their variables would be one path.
    const shapes = Object.keys(document.paths).map((path) => path.replaceAll(/\{\w+\}/g, '{}'));
    expect(new Set(shapes).size).toBe(shapes.length);
  });

  test('says what is required although it is looked at after the id', () => {
    const bodyOf = (path: string) => bodySchema(document.paths[path]?.['post']);
    expect(bodyOf('/api/v1/proposals/{id}/approve')['required']).toEqual(['version']);
    expect(bodyOf('/api/v1/proposals/{id}/comment')['required']).toEqual(['text']);
    const upload = document.paths['/api/v1/connections/{id}/files']?.['post']?.parameters;
    expect(upload?.find(({ name }) => name === 'name')?.required).toBe(true);
  });

  test('takes a record as it was read where one is created or changed', async () => {
    await s.signIn();
    const { id, ...record } = await s.call('toolsets.create', { name: 'as-read', description: 'Read and sent back' });
    for (const method of ['patch', 'post'] as const) {
      const path = method === 'patch' ? '/api/v1/toolsets/{id}' : '/api/v1/toolsets';
      const { properties = {}, additionalProperties } = bodySchema(document.paths[path]?.[method]) as {
        properties?: Json;
      } & Json;
      expect(additionalProperties).toBe(false);
      expect([path, Object.keys(record).filter((field) => !Object.hasOwn(properties, field))]).toEqual([path, []]);
      expect(properties['created_at']).toEqual({ readOnly: true, description: 'Ignored' });
    }
    expect((await s.api('PATCH', `/toolsets/${id}`, record)).status).toBe(200);
  });

  test('declares every variable of a path, and every parameter with a schema, once', () => {
    for (const [path, method, { parameters, summary, tags }] of all()) {
      const place = `${method} ${path}`;
      const names = parameters.map((parameter) => `${parameter.in} ${parameter.name}`);
      expect([place, new Set(names).size]).toEqual([place, names.length]);
      const variables = parameters.filter((parameter) => parameter.in === 'path');
      expect([place, variables.map(({ name }) => name).sort()]).toEqual([place, pathVariables(path).sort()]);
      for (const parameter of parameters) {
        expect(['path', 'query']).toContain(parameter.in);
        expect([place, parameter.name, typeof parameter.schema]).toEqual([place, parameter.name, 'object']);
        if (parameter.in === 'path') expect(parameter.required).toBe(true);
      }
      expect([place, summary.length > 0, tags.length]).toEqual([place, true, 1]);
    }
  });

  test('has a body only where HTTP gives it a meaning, and an answer with a description everywhere', () => {
    for (const [path, method, { requestBody, responses }] of described()) {
      const place = `${method} ${path}`;
      if (method === 'get' || method === 'delete') expect([place, requestBody]).toEqual([place, undefined]);
      if (requestBody !== undefined) {
        const type = place.endsWith('/files') ? 'application/octet-stream' : 'application/json';
        expect([place, Object.keys(requestBody.content)]).toEqual([place, [type]]);
      }
      const statuses = Object.keys(responses);
      expect([place, statuses.filter((status) => !/^(?:[1-5]\d\d|default)$/.test(status))]).toEqual([place, []]);
      expect([place, statuses.some((status) => status.startsWith('2')), statuses.includes('default')]).toEqual([
        place,
        true,
        true,
      ]);
      for (const [status, { description, content }] of Object.entries(responses)) {
        expect([place, description.length > 0]).toEqual([place, true]);
        expect([place, content === undefined]).toEqual([place, status === '204']);
      }
    }
  });

  test('holds schemas only that JSON Schema 2020-12 knows', () => {
    let count = 0;
    for (const [place, schema] of schemasIn(document.paths, 'paths')) {
      count += 1;
      expect([place, Object.keys(schema).filter((name) => !KEYWORDS.has(name))]).toEqual([place, []]);
      const types = [schema['type'] ?? []].flat() as string[];
      expect([place, types.filter((type) => !TYPES.includes(type))]).toEqual([place, []]);
      const required = (schema['required'] ?? []) as string[];
      const properties = Object.keys(schema['properties'] ?? {});
      expect([place, required.filter((name) => !properties.includes(name))]).toEqual([place, []]);
      if (typeof schema['pattern'] === 'string') expect(() => new RegExp(schema['pattern'] as string, 'u')).not.toThrow();
      if (schema['enum'] !== undefined) expect([place, (schema['enum'] as unknown[]).length > 0]).toEqual([place, true]);
      if (schema['default'] !== undefined && Array.isArray(schema['enum'])) expect(schema['enum']).toContain(schema['default']);
    }
    expect(count).toBeGreaterThan(500);
  });

  test('has references and security schemes that resolve', () => {
    for (const [, reference = ''] of JSON.stringify(document).matchAll(/"\$ref":"([^"]+)"/g)) {
      expect(reference).toStartWith('#/');
      let node: unknown = document;
      for (const step of reference.slice(2).split('/')) node = (node as Json | undefined)?.[step];
      expect([reference, node === undefined]).toEqual([reference, false]);
    }
    for (const [path, method, { operationId, security }] of described()) {
      const { access } = operations[operationId as keyof typeof operations];
      expect([path, method, security?.flatMap(Object.keys)]).toEqual([path, method, SCHEMES[access]]);
      for (const scheme of (security ?? []).flatMap((requirement) => Object.keys(requirement))) {
        expect(Object.keys(document.components.securitySchemes)).toContain(scheme);
      }
    }
  });
});

/** What a page shows, what it asks for elsewhere, and what its policy stopped. */
async function visit(browser: Browser, path: string, ready: string) {
  const { page, context, faults } = await openPage(browser, { width: 1_280, scheme: 'light' });
  const elsewhere: string[] = [];
  await context.route('**/*', (route) => {
    const url = route.request().url();
    if (url.startsWith(s.url) || /^(?:data|blob):/.test(url)) return route.continue();
    elsewhere.push(url);
    return route.abort();
  });
  try {
    await page.goto(`${s.url}${path}`);
    await page.locator(ready).first().waitFor({ timeout: 60_000 });
    // A long page draws what is in sight.
    let text = '';
    for (let step = 0; step < 100; step++) {
      text += await page.locator('body').innerText();
      const at_end = await page.evaluate<boolean>(
        '(scrollBy(0, innerHeight), scrollY + innerHeight >= document.documentElement.scrollHeight - 1)',
      );
      await Bun.sleep(100);
      if (at_end) break;
    }
    text += await page.locator('body').innerText();
    return { text, title: await page.title(), elsewhere, faults };
  } finally {
    await context.close();
  }
}

describe('the documentation pages work without the Internet', () => {
  let browser: Browser | undefined;
  afterAll(async () => browser?.close());

  for (const path of ['/api/docs', '/api/redoc']) {
    browserTest(
      `${path} lists the operations`,
      async () => {
        browser ??= await openBrowser();
        const { text, title, elsewhere, faults } = await visit(browser, path, '.opblock');
        for (const route of ['/api/health', '/api/v1/auth/login', '/api/v1/tools/{id}/duplicate']) {
          expect(text.replaceAll('\u200b', '')).toContain(route);
        }
        for (const sentence of ['Check that the server answers', 'Copy a tool under the name', 'Freeze the working copy']) {
          expect(text).toContain(sentence);
        }
        expect(title).toContain('Sluice');
        expect([elsewhere, faults]).toEqual([[], []]);
      },
      150_000,
    );
  }
});
