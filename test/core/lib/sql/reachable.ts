import { describe } from 'bun:test';

/** Groups tests that need a service of this machine: skipped by name when it is away, failing instead with `CI=true`. */
export async function describeWith(service: string, port: number, tests: () => void): Promise<void> {
  describe.skipIf(process.env['CI'] !== 'true' && !(await isReachable(port)))(`with ${service}`, tests);
}

async function isReachable(port: number): Promise<boolean> {
  try {
    const socket = await Bun.connect({ hostname: '127.0.0.1', port, socket: { data() {} } });
    socket.end();
    return true;
  } catch {
    return false;
  }
}
