const port = Number(process.env.SVC_FASTMCP_PORT); const f = new Set((process.env.F ?? '').split(','));
const body = JSON.stringify({jsonrpc:'2.0',id:1,result:{content:[{type:'text',text:'x'.repeat(380)}]}});
const usage: any[] = [];
setInterval(()=>{ usage.length = 0; }, 300);
Bun.serve({ port, hostname:'127.0.0.1', idleTimeout: 30, async fetch(req, server){ if (req.method==='GET') return new Response('ok');
 if (f.has('timeout')) server.timeout(req, 0);
 if (f.has('json')) await req.json(); else JSON.parse(await req.text());
 if (f.has('signal')) { const s=req.signal; const h=()=>{}; s.addEventListener('abort',h); await null; s.removeEventListener('abort',h); }
 if (f.has('signaltouch')) { req.signal; }
 if (f.has('ac')) { const c=new AbortController(); const s=c.signal; const h=()=>{}; s.addEventListener('abort',h); await null; s.removeEventListener('abort',h); }
 if (f.has('headers')) { for (const h of ['host','origin','authorization','content-type','content-length','accept','mcp-session-id','mcp-protocol-version']) req.headers.get(h); }
 if (f.has('url')) { req.url.indexOf('/'); req.method; }
 if (f.has('awaits')) { for (let i=0;i<10;i++) await null; }
 if (f.has('usage')) usage.push({a:1,b:2,timestamp:new Date().toISOString(),d:performance.now(),e:'x',g:null,h:3,i:4,j:'asd'});
 if (f.has('timeout')) server.timeout(req, 30);
 if (f.has('concat')) return new Response(body.slice(0,100)+JSON.stringify(body.slice(100))+'x'+Math.random(),{status:200,headers:{'content-type':'application/json'}});
 return new Response(body,{headers:{'content-type':'application/json'}}); } });
