DROP INDEX `history_name`;--> statement-breakpoint
CREATE INDEX `history_type` ON `history` (`entity_type`,`id`,`entity_name`,`actor_name`,`action`);--> statement-breakpoint
CREATE INDEX `history_name` ON `history` (`entity_name`,`id`,`entity_type`,`actor_name`,`action`);