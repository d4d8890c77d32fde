import { createDatabase, TOOLS, callBody } from '/work/main/test/bench/workload.ts';
import { startOurs } from '/work/main/test/bench/ours.ts';
import { findPeers, startPeer } from '/work/main/test/bench/peers.ts';
import { probe } from '/work/main/test/bench/target.ts';
import { runWrk } from '/work/main/test/bench/wrk.ts';
const which = process.argv[2] ?? 'ours,toolbox'; const secs = Number(process.argv[3] ?? 3); const toolsArg=(process.argv[4]??'lookup,range').split(','); const cs=(process.argv[5]??'64').split(',').map(Number);
const rounds = Number(process.argv[6] ?? 1);
const db = await createDatabase(200_000);
const targets: any[] = [];
try {
  const folder = await findPeers(console.error);
  const tools = Object.values(TOOLS);
  if (which.includes('ours')) targets.push(await startOurs(db, { tools, bearer: true }));
  if (which.includes('toolbox')) targets.push(await startPeer('toolbox', folder!, db, { tools }));
  if (which.includes('dbhub')) targets.push(await startPeer('dbhub', folder!, db, { tools }));
  for (const t of targets) for (const k of toolsArg) console.log(t.name, k, (await probe(t, callBody((TOOLS as any)[k].name, 7), /"result"/)).length);
  for (let r=0;r<rounds;r++)
  for (const k of toolsArg) for (const c of cs) for (const t of targets) {
    const tool=(TOOLS as any)[k];
    await runWrk({ url: t.url, headers: t.headers, tool: tool.name, span: 190000, connections: c, seconds: 1 });
    const b = t.measure(), bh = t.measureHost?.();
    const o = await runWrk({ url: t.url, headers: t.headers, tool: tool.name, span: 190000, connections: c, seconds: secs });
    if (t.measureHost) await Bun.sleep(1500);
    const a = t.measure(), ah = t.measureHost?.();
    console.log(t.name.padEnd(8), k, 'c', c, 'rps', o.rps.toFixed(0), 'p50', o.p50_ms, 'p99', o.p99_ms, 'err', o.errors, 'cpu/10k', ((a.cpu_s-b.cpu_s)/o.calls*1e4).toFixed(3), ah ? 'host '+((ah.cpu_s-bh.cpu_s)/o.calls*1e4).toFixed(3):'', 'rss', a.rss_mib.toFixed(0));
  }
} finally { for (const t of targets) await t.stop(); await db.drop(); }
process.exit(0);
