import { expect, test } from 'bun:test';
import { neededMembers } from '#core/lib/template/members.ts';
import { parseTemplate } from '#core/lib/template/parse.ts';

const needed = (text: string) => neededMembers(parseTemplate(text), 'vars');

test.each<readonly [string, readonly string[]]>([
  ['{{ vars.region }}', ['region']],
  ['{{ vars["region"] | upper }}', ['region']],
  ['{% for row in rows %}{{ row.price * vars.rate }}{% endfor %}', ['rate']],
  ['{% if rows | length > vars.most %}{{ vars.note }}{% endif %}', ['note']],
  ['{{ vars.region }} {{ vars.region | default("x") }}', []],
  ['{{ vars.region | d("x") }}', []],
  ['{{ vars.region or "x" }}', []],
  ['{% if vars.region %}in {{ vars.region }}{% endif %}', []],
  ['{% if vars.region is defined %}in {{ vars.region }}{% endif %}', []],
  ['{{ vars.region if vars.region else "x" }}', []],
  ['{{ vars }} {{ vars[name] }} {{ other.region }}', []],
  ['{% set vars = rows[0] %}{{ vars.region }}', []],
])('%j needs %j', (text, names) => expect(needed(text)).toEqual([...names]));
