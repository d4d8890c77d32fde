import { readFileSync } from 'node:fs';
import postgres from 'postgres';
import { openPostgres } from '#core/sources/postgres.ts';
import { TOOLS, numbered } from './workload.ts';
const info = JSON.parse(readFileSync('/tmp/prof-info.json','utf8'));
const [which='ours', key='lookup', cs='4', secs='3'] = process.argv.slice(2);
const text = numbered((TOOLS as any)[key].sql);
let one: (n: number)=>Promise<unknown>;
if (which==='ours') {
  const s = openPostgres({ db_type:'postgresql', host:'127.0.0.1', port:5432, database: info.db, username:'postgres', password:'', ssl_mode:'disable', ssl_ca:null, ssl_cert:null, ssl_key:null, extra_params:{}, pool_size:4 }, { allow_private_networks:true, forbidden:[], sqlite_dir:'/nonexistent' });
  const signal = new AbortController().signal;
  one = (n) => s.query({ text, values:[n], types:['integer'], typed:false }, { mode:'fixed', timeout_ms:30000, max_rows:10000, max_bytes:1<<24, signal });
} else {
  const sql = postgres({ host:'127.0.0.1', port:5432, database: info.db, username:'postgres', max:4, prepare:true, fetch_types:false, types: { date: { to:1184, from:[1082,1083,1114,1184], serialize: (x:any)=>x, parse:(x:any)=>x } } as any });
  one = (n) => sql.unsafe(text, [n], { prepare: true });
}
console.log(JSON.stringify(await one(5)).slice(0,200));
for (const c of cs.split(',').map(Number)) {
  let calls=0; let end = performance.now()+1000; 
  const loop = async()=>{ while(performance.now()<end){ JSON.stringify(await one(1+Math.floor(Math.random()*280000))); calls++; } };
  await Promise.all(Array.from({length:c},loop));
  calls=0; end = performance.now()+Number(secs)*1000; const b=process.cpuUsage(); const t0=performance.now();
  await Promise.all(Array.from({length:c},loop));
  const u=process.cpuUsage(b);
  console.log(which, key, 'c', c, 'rps', (calls/(performance.now()-t0)*1000).toFixed(0), 'cpu/10k', ((u.user+u.system)/1e6/calls*1e4).toFixed(3), 'user', (u.user/1e6/calls*1e4).toFixed(3));
}
process.exit(0);
