// runs host alone from /tmp/prof-data and loads it: bun _host.ts <tool,tool> <c,c> <secs> [prof] [rounds]
import { readFileSync } from 'node:fs';
import { measureTree } from './machine.ts';
import { runWrk } from './wrk.ts';
import { TOOLS } from './workload.ts';
import { until } from '#test/support/programs.ts';
const info = JSON.parse(readFileSync('/tmp/prof-info.json','utf8'));
const [toolsArg='lookup,range', cs='64', secs='3', prof='', rounds='1'] = process.argv.slice(2);
const port = new URL(info.url).port;
const child = Bun.spawn([process.execPath, ...(prof==='prof'?['--cpu-prof','--cpu-prof-dir','/tmp/prof-out','--cpu-prof-md']:[]), process.env.MAIN ?? 'mcp-host/main.ts'], { cwd: '/work/main', env: { ...process.env, SVC_ENV:'dev', SVC_PORT:'1', SVC_FASTMCP_PORT: port, SVC_DATA_DIR:'/tmp/prof-data', SVC_ALLOW_PRIVATE_NETWORKS:'true' }, stdout: 'ignore', stderr: process.env.ERR ? Bun.file(process.env.ERR) : 'inherit' });
await until(async()=> (await fetch(`http://127.0.0.1:${port}/health`)).ok, 10000);
for (let r=0;r<Number(rounds);r++) for (const k of toolsArg.split(',')) for (const c of cs.split(',').map(Number)) {
  const tool=(TOOLS as any)[k];
  const base={ url: info.url, headers: info.headers, tool: tool.name, span: 280000, connections: c };
  await runWrk({...base, seconds: 1});
  const b = measureTree([child.pid]);
  const o = await runWrk({...base, seconds: Number(secs)});
  const a = measureTree([child.pid]);
  console.log(k, 'c', c, 'rps', o.rps.toFixed(0), 'p50', o.p50_ms, 'p99', o.p99_ms, 'err', o.errors, 'cpu/10k', ((a.cpu_s-b.cpu_s)/o.calls*1e4).toFixed(3), 'rss', a.rss_mib.toFixed(0));
}
child.kill('SIGTERM'); await child.exited; process.exit(0);
