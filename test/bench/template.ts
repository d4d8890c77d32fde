import { loadTemplate, renderTemplate } from '#core/lib/template/evaluate.ts';
import { parseTemplate } from '#core/lib/template/parse.ts';
import { applyTransform } from '#core/lib/template/transform.ts';
import { nunjucks } from '#test/support/nunjucks.ts';

/** Milliseconds a template takes, against nunjucks compiling the same text to JavaScript. Run: `bun test/bench/template.ts`. */
const TABLE = `| id | name | price |
| --- | --- | --- |
{% for row in rows %}| {{ row.id }} | {{ row.name | upper }} | {{ row.price }} |
{% endfor %}`;
const SUMMARY = `{% for group in rows | groupby('city') %}{{ group.grouper }}: {{ group.list | length }} orders, {{ group.list | sum('price') }} in all
{% endfor %}`;
const JSON_OUT = '{{ {"orders": rows, "total": rows | length} | tojson }}';

const rowsOf = (count: number) =>
  Array.from({ length: count }, (_, index) => ({
    id: index,
    name: `Customer ${index}`,
    price: `${index}.50`,
    city: `City ${index % 7}`,
  }));

/** Median over rounds of enough repetitions to fill about 10 ms each. */
function median(work: () => unknown): number {
  const once = () => {
    const started = performance.now();
    work();
    return performance.now() - started;
  };
  for (let index = 0; index < 50; index++) once();
  const repetitions = Math.max(1, Math.ceil(10 / Math.max(0.001, once())));
  const rounds = Array.from({ length: 21 }, () => {
    const started = performance.now();
    for (let index = 0; index < repetitions; index++) work();
    return (performance.now() - started) / repetitions;
  });
  return rounds.sort((a, b) => a - b)[10] ?? 0;
}

const show = (name: string, ours: number, other: number | null) =>
  console.log(`| ${name} | ${ours.toFixed(4)} | ${other === null ? '' : other.toFixed(4)} |`);

console.log('| template | Sluice, ms | nunjucks compiled, ms |\n| --- | --- | --- |');
const environment = new nunjucks.Environment(null, { autoescape: false });
for (const count of [1, 50, 1_000]) {
  const rows = rowsOf(count);
  const template = parseTemplate(TABLE);
  const compiled = nunjucks.compile(TABLE, environment);
  show(
    `Markdown table, ${count} rows`,
    median(() => renderTemplate(template, { rows })),
    median(() => compiled.render({ rows })),
  );
}
for (const [name, text] of Object.entries({ 'grouped sums': SUMMARY, 'rows as JSON': JSON_OUT })) {
  const template = parseTemplate(text);
  const rows = rowsOf(50);
  show(
    `${name}, 50 rows`,
    median(() => applyTransform(template, { rows, params: {}, vars: {} })),
    null,
  );
}
const { ast } = parseTemplate(TABLE);
show(
  'parse and compile the table',
  median(() => parseTemplate(TABLE)),
  median(() => nunjucks.precompileString(TABLE, { name: 't' })),
);
show(
  'compile from the stored tree',
  median(() => loadTemplate(ast)),
  null,
);
