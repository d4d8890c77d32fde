/** The text form of a moment. Without a zone it is local to the database, whose columns may have a zone. */
export const DATETIME_FORM =
  'YYYY-MM-DD or YYYY-MM-DDThh:mm:ss, with Z or an offset such as +02:00; without one, in the time zone of the database connection';
