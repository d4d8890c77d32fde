import { slowListener } from './slow-listener.ts';

/** The slow listener in a process of its own, which prints its URL. */
const listener = slowListener();
await listener.use({ host: '127.0.0.1', port: 0 });
process.stdout.write(`${listener.current()?.url}\n`);
