// CPU of storeUsage per 10k items
import { testApp } from '#test/support/app.ts';
import { storeUsage } from '#core/services/usage.ts';
import * as v from 'valibot';
import { UsageBatch } from '#core/contract/monitoring.ts';
const t: any = await testApp();
const app = t.app ?? t;
const item = () => ({ kind:'tool', name:'order_by_id', entity_id: '0192aaaa-aaaa-7aaa-aaaa-aaaaaaaaaaaa', connection_id:'0192aaaa-aaaa-7aaa-aaaa-aaaaaaaaaaab', snapshot_version:1, client:'', token_prefix:'svc_mcp_00R8', timestamp:new Date().toISOString(), duration_ms: Math.random()*9, wait_ms: Math.random()*7, rows:1, bytes:400, success:true, error:null });
let seq=0; const N=30; 
const body = () => JSON.stringify({ boot_id:'b', seq:++seq, items: Array.from({length:1000}, item), lines:[] });
for (const phase of ['warm','json','valibot','store']) {
  const bodies = Array.from({length:N}, body); const b=process.cpuUsage();
  for (const x of bodies) { const j=JSON.parse(x); if (phase==='json') continue; const p=v.safeParse(UsageBatch, j); if(!p.success) throw new Error(JSON.stringify(p.issues[0])); if (phase==='valibot') continue; await storeUsage(app,'h1',p.output as any); }
  const u=process.cpuUsage(b); console.log(phase, 'cpu s/10k', ((u.user+u.system)/1e6/(N*1000)*1e4).toFixed(3));
}
process.exit(0);
