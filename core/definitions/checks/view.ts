import type { ToolDraft } from '#core/contract/definitions/tools.ts';
import type { Column } from '#core/lib/sql/result.ts';
import { type FieldError, refuseFields } from '#core/errors.ts';
import { isChart } from '#core/lib/view/drawing.ts';

type Viewed = Pick<ToolDraft, 'view' | 'return_type'>;

const STRUCTURED = ['rows', 'row', 'column', 'value'];

/** Throws for a view without effect, or with columns that the statement does not return. @param columns null when they are unknown. */
export function refuseView(draft: Viewed, columns: readonly Column[] | null): void {
  refuseFields(faultsOf(draft, columns));
}

/** Databases send numbers as texts when JavaScript cannot represent them exactly, so the type of a text column decides. */
const NUMBER_TYPE = /numeric|decimal|float|double|real|number|money|int\d|(?:big|huge)int/i;
const NO_NUMBERS: ReadonlySet<Column['kind']> = new Set(['boolean', 'bytes', 'array']);
const holdsNoNumbers = ({ kind, type }: Column): boolean =>
  NO_NUMBERS.has(kind) || (kind === 'string' && !NUMBER_TYPE.test(type));

function faultsOf({ view, return_type }: Viewed, columns: readonly Column[] | null): FieldError[] {
  if (view === null) return [];
  const { kind, x, y = [], series, title, format } = view;
  const at = (field: string, message: string): FieldError => ({ field: `view.${field}`, message });
  if (!STRUCTURED.includes(return_type)) {
    if (kind === 'none') return [];
    return [
      { field: 'view', message: `view draws structured results. Set return_type to ${STRUCTURED.join(', ')}, or view to null.` },
    ];
  }
  const chart = isChart(kind);
  const needless = [
    ...(!chart && x !== undefined ? ['x'] : []),
    ...(!chart && kind !== 'value' && kind !== 'table' && y.length > 0 ? ['y'] : []),
    ...((!chart || kind === 'pie') && series !== undefined ? ['series'] : []),
    ...(kind === 'none' && title !== undefined ? ['title'] : []),
    ...((kind === 'none' || kind === 'record') && format !== undefined ? ['format'] : []),
  ].map((field) => at(field, `view.${field} has no effect with the kind ${kind}. Leave it out.`));
  if (needless.length > 0) return needless;
  if (kind === 'table' && y.length > 0 && format === undefined) {
    return [at('y', 'view.y of a table names the columns that view.format is for. Add format, or leave y out.')];
  }
  if (kind === 'table' && format !== undefined && y.length === 0) {
    return [at('format', 'view.format of a table needs view.y: the columns whose numbers are written so.')];
  }
  if (y.length > 1 && (kind === 'pie' || series !== undefined)) {
    return [at('y', `view.y takes one column with ${series === undefined ? 'the kind pie' : 'series'}.`)];
  }
  const twice = y.find((column, index) => y.indexOf(column) < index);
  if (twice !== undefined) return [at('y', `view.y names the column ${twice} twice.`)];
  if (x !== undefined && y.includes(x)) return [at('y', `view.y names the column ${x}, which view.x names too.`)];
  if (series !== undefined && (series === x || y.includes(series))) {
    return [at('series', `view.series names the column ${series}, which view.${series === x ? 'x' : 'y'} names too.`)];
  }
  if (chart && return_type !== 'rows') {
    return [at('kind', `A ${kind} chart needs return_type rows; this tool returns ${return_type}.`)];
  }
  if (return_type === 'value' || return_type === 'column') {
    return y.length === 0
      ? []
      : [at('y', `view.y has no effect with return_type ${return_type}: its result has no names of columns.`)];
  }
  if (columns === null || columns.length === 0) return [];
  const named: [field: string, column: string | undefined][] = [
    ['x', x],
    ...y.map((column): [string, string] => ['y', column]),
    ['series', series],
  ];
  const names = columns.map(({ name }) => name);
  const unknown = named
    .filter(([, column]) => column !== undefined && !names.includes(column))
    .map(([field, column]) =>
      at(field, `view.${field} names the column ${column}, which the statement does not return. It returns ${names.join(', ')}.`),
    );
  if (unknown.length > 0 || (!chart && format === undefined)) return unknown;
  return columns
    .filter((column) => y.includes(column.name) && holdsNoNumbers(column))
    .map(({ name, type }) =>
      at(
        'y',
        `view.y names the column ${name} of type ${type}; ${chart ? 'a chart draws' : 'view.format is for'} numbers. Name another column, or cast it in the statement.`,
      ),
    );
}
