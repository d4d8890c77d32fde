import type { Column } from '#ui/src/components/table/data-table.tsx';
import { clockTime, exactTime, shortDay } from '#ui/src/kernel/dates.ts';

/** When it was, with its day where there is room. */
export const timeColumn: Column<{ readonly timestamp: string }> = {
  id: 'time',
  head: 'Time',
  cell: (entry) => (
    <span class="num cell-time" title={exactTime(entry.timestamp)}>
      <span class="logs-day">{shortDay(entry.timestamp)}, </span>
      {clockTime(entry.timestamp)}
    </span>
  ),
};
