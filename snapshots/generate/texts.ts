import type { FrozenPrompt, FrozenResource, FrozenTool, Snapshot } from '#snapshots/format/format.ts';
import type { ProjectPart } from '#core/engines/shared/descriptor.ts';
import type { NamedConnection } from '#core/engines/shared/project.ts';
import { createNames } from './names.ts';
import { partOf } from './connections.ts';

/** The input for the texts of a project. */
export interface Facts {
  readonly snapshot: Snapshot;
  readonly linked: readonly NamedConnection[];
  /** Engine parts of the project. */
  readonly parts: readonly ProjectPart[];
  readonly templates: boolean;
  readonly left_out: readonly string[];
  readonly tools: readonly FrozenTool[];
  readonly resources: readonly FrozenResource[];
  readonly prompts: readonly FrozenPrompt[];
}

/** Versions of packages that the product's package.json does not list. */
export const OTHER_VERSIONS = { libsql: '0.5.29', tsx: '4.23.15', '@types/node': '26.6.6' } as const;

export const IGNORED = 'node_modules/\n.env\n';

export const TSCONFIG = `${JSON.stringify(
  {
    compilerOptions: {
      target: 'ESNext',
      module: 'Preserve',
      moduleResolution: 'bundler',
      lib: ['ESNext', 'DOM', 'DOM.Iterable'],
      types: ['node'],
      allowImportingTsExtensions: true,
      noEmit: true,
      strict: true,
      noUncheckedIndexedAccess: true,
      exactOptionalPropertyTypes: true,
      verbatimModuleSyntax: true,
      isolatedModules: true,
      skipLibCheck: true,
    },
    include: ['src'],
  },
  null,
  2,
)}\n`;

/** @param product_package the product's package.json; the project uses its versions. */
export function packageJson({ snapshot, parts, templates }: Facts, product_package: string): string {
  const {
    dependencies,
    devDependencies,
    optionalDependencies,
  }: Record<string, Record<string, string>> = JSON.parse(product_package);
  const known: Readonly<Record<string, string>> = {
    ...devDependencies,
    ...optionalDependencies,
    ...dependencies,
    ...OTHER_VERSIONS,
  };
  const pick = (names: readonly string[]) => Object.fromEntries(names.toSorted().map((name) => [name, known[name]]));
  return `${JSON.stringify(
    {
      name: createNames()(snapshot.content.server.server_name).replaceAll('_', '-'),
      version: `1.0.${snapshot.version}`,
      private: true,
      description: `Generated from snapshot ${snapshot.version} (${snapshot.checksum})`,
      type: 'module',
      scripts: { start: 'tsx src/main.ts', check: 'tsc --noEmit' },
      dependencies: pick([
        '@modelcontextprotocol/server',
        'tsx',
        ...new Set(parts.flatMap(({ packages }) => packages)),
        ...(templates ? ['nunjucks'] : []),
      ]),
      devDependencies: pick(['@types/node', 'typescript']),
      engines: { node: '>=20.12' },
    },
    null,
    2,
  )}\n`;
}

export function environmentExample({ snapshot, linked }: Facts): string {
  const { auth_type, port } = snapshot.content.server;
  const connections = linked.flatMap((item) => [
    '',
    ...partOf(item.connection.db_type)
      .variables(item)
      .map(({ name, fallback }) => (fallback === undefined ? `${name}=` : `# ${name}=`)),
  ]);
  const token =
    auth_type === 'none'
      ? ['# Clients must then send it as Authorization: Bearer …', '# MCP_TOKEN=']
      : ['# Clients must send it as Authorization: Bearer …', 'MCP_TOKEN='];
  const lines = [
    '# Copy to .env. Fill in the lines without #; the others have defaults in the source.',
    '# HOST=',
    `# PORT=${port}`,
    '# Additional host names of this server, comma-separated',
    '# ALLOWED_HOSTS=',
    ...token,
    ...connections,
  ];
  return `${lines.join('\n')}\n`;
}

export function readme(facts: Facts): string {
  const { snapshot, linked, tools, resources, prompts, left_out, parts } = facts;
  const { port, auth_type } = snapshot.content.server;
  const sections = [
    `# ${inline(snapshot.content.server.server_name)}`,
    `An MCP server, generated from snapshot ${snapshot.version} (\`${snapshot.checksum}\`). It needs only Node 20.12 or later, Bun or Deno.`,
    `## Run it
\`\`\`sh
cp .env.example .env      # fill in the values
npm install && npm start  # or: bun install && bun src/main.ts
                          # or: npm install && deno run -A src/main.ts
\`\`\`
Clients connect to \`http://127.0.0.1:${port}/mcp\` (\`HOST\`, \`PORT\`); with \`npm start -- --stdio\` it uses stdin and stdout.
${auth_type === 'none' ? 'Set `MCP_TOKEN` to require a bearer token.' : 'Clients must send the token in `MCP_TOKEN` as a bearer token; the other sign-in methods of Sluice are not part of this project.'}`,
    `## What is where
\`src/tools\`, \`src/resources\` and \`src/prompts\` have one file per definition, with the SQL as it was written. \`src/connections.ts\` lists the
databases, \`src/engine\` is the code that checks arguments, asks databases, shapes results and renders templates.`,
    list(
      'Databases',
      linked.map(
        ({ key, connection }) =>
          `\`${key}\` (${connection.db_type}): ${partOf(connection.db_type)
            .variables({ key, connection, prefix: key.toUpperCase() })
            .map(({ name }) => `\`${name}\``)
            .join(', ')}`,
      ),
    ),
    list('Tools', tools.map(describe)),
    list('Resources', resources.map(describe)),
    list('Prompts', prompts.map(describe)),
    list('Left out', left_out),
    `## What is enforced
Values are bound parameters, never inserted into the SQL. A call runs one statement, with a timeout, a row limit and a byte limit.
${parts.map(({ enforced }) => `- ${enforced}`).join('\n')}

Not part of this project: queues, caches, rate limits (\`rate_limit_per_minute\`), metrics, the request log and logged arguments
(\`log_arguments\`), forms for missing arguments (\`ask_missing\`), files (\`files\`), views, the prompt guard and toolsets: anyone who ${auth_type === 'none' ? 'can reach it' : 'has the token'} can call everything in this project.${unlimited(tools)}`,
  ];
  return `${sections.filter(Boolean).join('\n\n')}\n`;
}

function unlimited(tools: Facts['tools']): string {
  const names = tools.flatMap(({ name, rate_limit_per_minute }) => (rate_limit_per_minute === undefined ? [] : [`\`${name}\``]));
  return names.length === 0 ? '' : ` These tools have a rate limit in Sluice: ${names.join(', ')}.`;
}

function list(title: string, items: readonly string[]): string {
  return items.length === 0 ? '' : `## ${title}\n${items.map((item) => `- ${item}`).join('\n')}`;
}

function describe({ name, listing }: { readonly name: string; readonly listing: Readonly<Record<string, unknown>> }): string {
  const { description } = listing;
  return `\`${name}\`${typeof description === 'string' && description !== '' ? `: ${inline(description).slice(0, 200)}` : ''}`;
}

/** Formats user text for one line of Markdown, without markup. An underscore after a letter starts no emphasis and stays. */
const inline = (text: string): string =>
  text
    .replace(/[\s\p{C}]+/gu, ' ')
    .replace(/[\\`*{}[\]<>|#]/g, '\\$&')
    .replace(/(?<![\p{L}\p{N}_])_+/gu, (run) => run.replaceAll('_', '\\_'))
    .trim();
