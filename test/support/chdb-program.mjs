// The engine of a current ClickHouse in a process of its own. Each request has a connection of its own, with its own settings.
import { createRequire } from 'node:module';

const { Session } = createRequire(new URL('../servers/package.json', import.meta.url))('chdb');
const [, , folder] = process.argv;
// Holds the data while no request does.
const kept = new Session(folder);
const quoted = (text) => `'${text.replaceAll('\\', '\\\\').replaceAll("'", "\\'")}'`;

process.on('message', ({ id, text, database, settings, format }) => {
  const session = new Session(folder);
  try {
    if (database !== null) session.query(`USE \`${database}\``);
    for (const [name, value] of settings) session.query(`SET ${name} = ${quoted(value)}`);
    process.send({ id, ok: true, body: session.query(text, format) });
  } catch (error) {
    process.send({ id, ok: false, body: String(error.message).replace(/^Query failed: /, '') });
  } finally {
    session.close();
  }
});
process.on('disconnect', () => {
  kept.close();
  process.exit(0);
});
process.send({ id: 0, ok: true, body: '' });
