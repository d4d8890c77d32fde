/** The warning of a server with `SVC_RESTORE_DRILL`. */
export const DRILL_WARNING =
  'This server is a restore drill (SVC_RESTORE_DRILL): it sends no webhooks and orders no certificates. Restart it without the variable to put it in service.';
