/** How the warning of a server with `SVC_RESTORE_DRILL` begins. */
export const DRILL_WARNING = 'This is a restore drill';
