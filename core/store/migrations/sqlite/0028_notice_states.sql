ALTER TABLE `notice_events` ADD `actor_id` text;--> statement-breakpoint
ALTER TABLE `notice_events` ADD `key` text;--> statement-breakpoint
ALTER TABLE `notice_events` ADD `ended_at` text;--> statement-breakpoint
CREATE UNIQUE INDEX `notice_events_open` ON `notice_events` (`key`) WHERE ended_at is null;