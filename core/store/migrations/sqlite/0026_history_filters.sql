DROP INDEX `history_entity`;--> statement-breakpoint
DROP INDEX `history_action`;--> statement-breakpoint
ALTER TABLE `history` ADD `actor_name` text DEFAULT '' NOT NULL;--> statement-breakpoint
UPDATE `history` SET `actor_name` = coalesce(`actor` ->> 'name', '') WHERE `actor` NOT LIKE '%\u0000%' AND `actor` NOT LIKE '%\ud%';--> statement-breakpoint
CREATE INDEX `history_filters` ON `history` (`id`,`entity_type`,`entity_name`,`actor_name`,`action`);--> statement-breakpoint
CREATE INDEX `history_name` ON `history` (`entity_name`);--> statement-breakpoint
CREATE INDEX `history_entity` ON `history` (`entity_id`,`id`,`entity_type`,`entity_name`,`actor_name`,`action`);--> statement-breakpoint
CREATE INDEX `history_action` ON `history` (`action`,`id`,`entity_type`,`entity_name`,`actor_name`);