import type { ToolDraft } from '#core/contract/definitions/tools.ts';
import { type FieldError, refuseFields } from '#core/errors.ts';
import { isChart } from '#core/lib/view/drawing.ts';

type Viewed = Pick<ToolDraft, 'view' | 'return_type'>;

const STRUCTURED = ['rows', 'row', 'column', 'value'];

/** Refuses a view that would have no effect, or names what the statement does not return. @param columns null: the database could not be asked. */
export function refuseView(draft: Viewed, columns: readonly { readonly name: string }[] | null): void {
  const errors = faultsOf(draft, columns?.map(({ name }) => name) ?? null);
  refuseFields(errors);
}

function faultsOf({ view, return_type }: Viewed, columns: readonly string[] | null): FieldError[] {
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
  return named
    .filter(([, column]) => column !== undefined && !columns.includes(column))
    .map(([field, column]) =>
      at(
        field,
        `view.${field} names the column ${column}, which the statement does not return. It returns ${columns.join(', ')}.`,
      ),
    );
}
