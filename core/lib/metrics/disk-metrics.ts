import { statfs } from 'node:fs/promises';
import { metric } from './metrics-text.ts';

/** Room on the disk of a folder. */
export async function diskMetrics(folder: string): Promise<string> {
  const found = await statfs(folder).catch(() => null);
  if (found === null) return '';
  return (
    metric('gauge', 'sluice_disk_size_bytes', 'Size of the disk with the data folder.', found.blocks * found.bsize) +
    metric('gauge', 'sluice_disk_free_bytes', 'Room that is left on the disk with the data folder.', found.bavail * found.bsize)
  );
}
