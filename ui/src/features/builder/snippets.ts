import type { OperationName } from '#core/contract/index.ts';
import { fullPath } from '#core/contract/paths.ts';
import { routes } from '#core/contract/routes.ts';
import { shellQuote } from '#core/lib/text/command-text.ts';

/** The same change as a script: curl and TypeScript, with the token in the environment. */
interface CallSnippets {
  readonly curl: string;
  readonly typescript: string;
}

export function snippetsOf(name: OperationName, origin: string, body: Readonly<Record<string, unknown>>): CallSnippets {
  const { method, path } = routes[name];
  const { id, ...rest } = body;
  const id_text = typeof id === 'string' ? id : '{id}';
  const url = `${origin}${fullPath(path).replace('{id}', id_text)}`;
  const json = JSON.stringify(rest, null, 2);
  const has_body = method === 'POST' || method === 'PATCH';
  const curl = [
    `curl -X ${method} ${shellQuote(url)}`,
    `  -H "Authorization: Bearer $SLUICE_TOKEN"`,
    ...(has_body ? [`  -H 'Content-Type: application/json'`, `  -d ${shellQuote(json)}`] : []),
  ].join(' \\\n');
  const typescript = [
    `import { env } from 'node:process';`,
    '',
    `const response = await fetch(${JSON.stringify(url)}, {`,
    `  method: '${method}',`,
    has_body
      ? `  headers: { authorization: \`Bearer \${env.SLUICE_TOKEN}\`, 'content-type': 'application/json' },`
      : `  headers: { authorization: \`Bearer \${env.SLUICE_TOKEN}\` },`,
    ...(has_body ? [`  body: JSON.stringify(${json.replaceAll('\n', '\n  ')}),`] : []),
    `});`,
    `if (!response.ok) throw new Error((await response.json()).detail);`,
  ].join('\n');
  return { curl, typescript };
}
