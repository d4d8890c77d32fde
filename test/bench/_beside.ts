import { createDatabase, TOOLS } from './workload.ts';
import { startOurs } from './ours.ts';
import { measureBeside } from './beside.ts';
import { measureRegistry } from './registry.ts';
const db = await createDatabase(100_000);
const ours = await startOurs(db, { tools: Object.values(TOOLS), bearer: true });
for (let i=0;i<2;i++) console.log((await measureBeside(db, ours, [], { rounds: 2, seconds: 3, say: ()=>{} })).text);
await ours.stop(); await db.drop();

process.exit(0);
