import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { type Cluster, type Member, startCluster } from '#test/support/cluster.ts';
import { reachable } from '#test/support/databases.ts';
import { paced } from '#test/support/paced.ts';
import type { Programs } from '#test/support/programs.ts';
import { untilWithin } from '#test/support/until.ts';
import { type FaultProxy, openFaultProxy } from './fault-proxy.ts';

interface Status {
  readonly snapshot_version: number;
  readonly hosts: readonly { readonly id: string; readonly url: string; readonly snapshot_version: number | null }[];
}
interface Receipt {
  readonly snapshot_version: number;
  readonly warnings: readonly string[];
}
interface Events {
  readonly items: readonly { readonly event: string; readonly ended_at: string | null }[];
}

const seconds = (since: number): string => `${((performance.now() - since) / 1_000).toFixed(1)} s`;

/** Hosts that are stopped with SIGSTOP, or whose network swallows every byte: their connections stay open. */
describe.skipIf(!reachable.postgres || !reachable.redis)('two servers and three hosts', () => {
  let cluster: Cluster;
  let servers: Programs[] = [];
  let hosts: Member[] = [];
  let network: FaultProxy;
  let edits = 0;

  const statusOf = (server: Programs) => server.api<Status>('GET', '/deploy/status');
  const within = (ms: number, condition: () => Promise<boolean>) =>
    untilWithin(paced(ms), condition, () => servers.map((server) => server.output().slice(-3_000)).join('\n---\n'));
  /** Every server lists so many hosts, which serve what is deployed. */
  const listed = async (count: number): Promise<boolean> => {
    for (const server of servers) {
      const { hosts: rows, snapshot_version } = await statusOf(server);
      if (rows.length !== count || rows.some((row) => row.snapshot_version !== snapshot_version)) return false;
    }
    return true;
  };
  const deploy = async (): Promise<Receipt & { readonly took_ms: number }> => {
    const server = servers[edits % servers.length]!;
    await server.api('PATCH', '/server/config', { server_name: `Edit ${(edits += 1)}` });
    const started = performance.now();
    return { ...(await server.api<Receipt>('POST', '/deploy', {})), took_ms: performance.now() - started };
  };
  const lost = async (): Promise<boolean[]> =>
    (await servers[0]!.api<Events>('GET', '/notices/events?event=host_gone')).items.map(({ ended_at }) => ended_at === null);

  beforeAll(async () => {
    cluster = await startCluster(13);
    servers = [await cluster.startServer(), await cluster.startServer()];
    await servers[0]!.demo();
    for (const server of servers) await server.signIn();
    const { hostname, port } = new URL(cluster.url);
    network = await openFaultProxy({ host: hostname, port: Number(port) });
    hosts = [cluster.startHost(), cluster.startHost(), cluster.startHost({ SVC_SERVER_URL: `http://127.0.0.1:${network.port}` })];
    await within(30_000, () => listed(3));
  }, 120_000);
  afterAll(async () => {
    for (const { process: host } of hosts) host.kill('SIGCONT');
    await cluster.stop();
    await network.close();
  }, 30_000);

  test('a frozen host is gone in seconds, holds up no deploy, and serves the newest version once it thaws', async () => {
    const frozen = hosts[0]!.process;
    frozen.kill('SIGSTOP');
    const since = performance.now();
    const first = await deploy();
    expect(first.took_ms).toBeLessThan(paced(8_000));
    expect(first.warnings.join()).toContain('has not answered');
    await within(20_000, () => listed(2));
    process.stdout.write(
      `The first deploy took ${first.took_ms.toFixed(0)} ms; a frozen host was gone after ${seconds(since)}.\n`,
    );
    const second = await deploy();
    expect(second.took_ms).toBeLessThan(paced(3_000));
    expect(second.warnings.join()).not.toContain('has not answered');
    await within(45_000, async () => Bun.deepEquals(await lost(), [true]));
    process.stdout.write(`The notice came after ${seconds(since)}.\n`);
    frozen.kill('SIGCONT');
    const thawed = performance.now();
    await within(20_000, () => listed(3));
    process.stdout.write(`It served the newest version ${seconds(thawed)} after the thaw.\n`);
    await within(10_000, async () => Bun.deepEquals(await lost(), [false]));
  }, 180_000);

  test('a host that is cut off from the servers is gone in seconds, and comes back with the network', async () => {
    network.use('half_open');
    const since = performance.now();
    await within(20_000, () => listed(2));
    process.stdout.write(`A host that was cut off was gone after ${seconds(since)}.\n`);
    network.use('none');
    await within(40_000, () => listed(3));
  }, 120_000);

  test('a server that was frozen itself drops no host when it goes on', async () => {
    const dropped = () => servers.map((server) => server.output().match(/host dropped/g)?.length ?? 0);
    const before = dropped();
    servers[0]!.process.kill('SIGSTOP');
    await Bun.sleep(14_000);
    servers[0]!.process.kill('SIGCONT');
    await Bun.sleep(3_000);
    await within(20_000, () => listed(3));
    expect(dropped()).toEqual(before);
  }, 60_000);
});
