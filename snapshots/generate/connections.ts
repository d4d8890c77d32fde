import { basename } from 'node:path';
import type { DbType } from '#core/contract/definitions/connections.ts';
import { engineOf } from '#core/engines/index.ts';
import type { ProjectPart } from '#core/engines/shared/descriptor.ts';
import { extrasOf } from '#core/engines/shared/extras.ts';
import { literal } from './literal.ts';
import type { NamedConnection } from '#core/engines/shared/project.ts';

export const partOf = (db_type: DbType): ProjectPart => engineOf(db_type).project;

/** The engine parts that the connections of a project need, ordered by driver. */
export function partsOf(linked: readonly NamedConnection[]): ProjectPart[] {
  const parts = new Set(linked.map(({ connection }) => partOf(connection.db_type)));
  return [...parts].toSorted((a, b) => (a.driver < b.driver ? -1 : 1));
}

const driverName = ({ driver }: ProjectPart): string => basename(driver, '.ts');

function opener(part: ProjectPart): string {
  const name = driverName(part);
  return `open${name[0]?.toUpperCase()}${name.slice(1)}`;
}

export function connectionSource(linked: readonly NamedConnection[]): string {
  const variables = linked.flatMap((item) => partOf(item.connection.db_type).variables(item));
  const used = [
    ...(variables.some(({ fallback }) => fallback === undefined) ? ['secret'] : []),
    ...(variables.some(({ fallback }) => fallback !== undefined) ? ['setting'] : []),
  ];
  const entries = linked.map((item) => {
    const { connection, key } = item;
    const part = partOf(connection.db_type);
    const lines = part.variables(item).map(({ name, member, fallback }) => {
      const text = fallback === undefined ? `secret('${name}')` : `setting('${name}', ${literal(fallback)})`;
      return `    ${member}: ${member === 'port' ? `Number(${text})` : text},\n`;
    });
    const { db_type, ssl_mode, ssl_ca, ssl_cert, pool_size } = connection;
    const fixed = {
      db_type,
      ssl_mode,
      ssl_ca,
      ssl_cert,
      ...(connection.ssl_key === null && { ssl_key: null }),
      pool_size,
      extra_params: extrasOf(engineOf(db_type).extras, connection.extra_params),
    };
    const rest = part.networked ? Object.entries(fixed).map(([name, value]) => `    ${name}: ${literal(value)},\n`) : [];
    return `  ${key}: ${opener(part)}({\n${lines.join('')}${rest.join('')}  }),\n`;
  });
  return `import type { Database } from './definitions.ts';
${partsOf(linked)
  .map((part) => `import { ${opener(part)} } from './drivers/${driverName(part)}.ts';\n`)
  .join('')}${used.length > 0 ? `import { ${used.join(', ')} } from './settings.ts';\n` : ''}
/** Opened when they are first used. */
export const connections: Readonly<Record<string, Database>> = {
${entries.join('')}};
`;
}
