import { readFileSync } from 'node:fs';
import { withDevSecrets } from '#core/dev-secrets.ts';
import { parseEnv } from '#core/env.ts';
import { createLog, toStream } from '#core/log.ts';
import { createHost } from '#mcp-host/host.ts';
import { hostOptions } from '#mcp-host/setup.ts';
const info = JSON.parse(readFileSync('/tmp/prof-info.json','utf8'));
const { env } = parseEnv('host', withDevSecrets({ ...process.env, SVC_ENV:'dev', SVC_PORT:'1', SVC_FASTMCP_PORT:'0', SVC_DATA_DIR:'/tmp/prof-data', SVC_ALLOW_PRIVATE_NETWORKS:'true' } as any));
const log = createLog('ERROR', toStream(process.stdout), 'host');
const o = await hostOptions(env, log);
const columns = ['id','customer_id','status','amount','currency','created_at','note'].map(name=>({name,type:'text',kind:'string'}));
const row = {"id":1,"customer_id":2,"status":"paid","amount":"0.01","currency":"EUR","created_at":"2026-01-01T00:00:17Z","note":null};
const host = createHost({...o, openSource: async () => ({ query: async () => ({columns, rows:[{...row}], truncated:false, affected_rows:null}), sessions:()=>0, close: async()=>{} }) as any});
await host.start();
const url = info.url; const body='{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"order_by_id","arguments":{"start":5}}}';
const one = async () => { const r = await host.fetch(new Request(url,{method:'POST', headers:{'content-type':'application/json', accept:'application/json, text/event-stream', host:'127.0.0.1:37901', ...info.headers}, body}), 1, ()=>'127.0.0.1', ()=>{}); return r; };
console.log((await (await one()).text()).slice(0,150));
const ctl = async () => { const r = new Request(url,{method:'POST', headers:{'content-type':'application/json', accept:'application/json, text/event-stream', host:'127.0.0.1:37901', ...info.headers}, body}); JSON.parse(await r.text()); return new Response(body,{headers:{'content-type':'application/json'}}); };
for (const [n,f] of [['control',ctl],['host',one],['control',ctl],['host',one]] as const) {
  for (let i=0;i<20000;i++) await f();
  const N=60000, b=process.cpuUsage(), t=performance.now(); for (let i=0;i<N;i++) await f(); const u=process.cpuUsage(b);
  console.log(n, 'wall us', ((performance.now()-t)*1000/N).toFixed(2), 'cpu us', ((u.user+u.system)/N).toFixed(2));
}
process.exit(0);
