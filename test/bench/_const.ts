const port = Number(process.env.SVC_FASTMCP_PORT);
const body = JSON.stringify({jsonrpc:'2.0',id:1,result:{content:[{type:'text',text:'x'.repeat(180)}]}});
Bun.serve({ port, hostname:'127.0.0.1', async fetch(req){ if (req.method==='GET') return new Response('ok'); await req.json(); return new Response(body,{headers:{'content-type':'application/json'}}); } });
