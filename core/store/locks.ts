/**
 * Keys of PostgreSQL's advisory locks: numbers of ours that nothing else in the database uses. Each stands here once, since two turns
 * with the same key would wait for each other.
 */
export const LOCKS = {
  migration: '7318349394477056',
  /** Deploys, one after the other. */
  deploy: '7318349394477057',
  /** Writers of entities. */
  entity: '7318349394477058',
  /** Changes of what is served. */
  switch: '7318349394477059',
  /** Rows of which there may only be so many, and that are no entities. */
  room: '7318349394477060',
} as const;
