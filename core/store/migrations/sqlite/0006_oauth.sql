CREATE TABLE `oauth_apps` (
	`id` text PRIMARY KEY NOT NULL,
	`name` text NOT NULL,
	`client_id` text NOT NULL,
	`redirect_uris` text NOT NULL,
	`confidential` integer NOT NULL,
	`trusted` integer NOT NULL,
	`secret_digest` text,
	`version` integer NOT NULL,
	`created_at` text NOT NULL,
	`updated_at` text NOT NULL
);
--> statement-breakpoint
CREATE UNIQUE INDEX `oauth_apps_client_id` ON `oauth_apps` (`client_id`);--> statement-breakpoint
CREATE UNIQUE INDEX `oauth_apps_name` ON `oauth_apps` (`name`);--> statement-breakpoint
CREATE TABLE `oauth_attempts` (
	`id` text PRIMARY KEY NOT NULL,
	`client` text NOT NULL,
	`client_id` text NOT NULL,
	`step` text NOT NULL,
	`reason` text,
	`person` text,
	`ip` text,
	`created_at` text NOT NULL
);
--> statement-breakpoint
CREATE TABLE `oauth_codes` (
	`digest` text PRIMARY KEY NOT NULL,
	`client` text NOT NULL,
	`redirect_uri` text NOT NULL,
	`code_challenge` text NOT NULL,
	`resource` text NOT NULL,
	`scopes` text NOT NULL,
	`person_id` text NOT NULL,
	`grant_id` text NOT NULL,
	`spent` integer NOT NULL,
	`expires_at` text NOT NULL
);
--> statement-breakpoint
CREATE INDEX `oauth_codes_expiry` ON `oauth_codes` (`expires_at`);--> statement-breakpoint
CREATE TABLE `oauth_grants` (
	`id` text PRIMARY KEY NOT NULL,
	`person_id` text NOT NULL,
	`client_id` text NOT NULL,
	`client` text NOT NULL,
	`resource` text NOT NULL,
	`scopes` text NOT NULL,
	`created_at` text NOT NULL,
	`last_used_at` text NOT NULL
);
--> statement-breakpoint
CREATE INDEX `oauth_grants_person` ON `oauth_grants` (`person_id`);--> statement-breakpoint
CREATE INDEX `oauth_grants_client` ON `oauth_grants` (`client_id`);--> statement-breakpoint
CREATE TABLE `oauth_refresh` (
	`digest` text PRIMARY KEY NOT NULL,
	`grant_id` text NOT NULL,
	`rotated_at` text,
	`successor` text,
	`successor_digest` text,
	`expires_at` text NOT NULL
);
--> statement-breakpoint
CREATE INDEX `oauth_refresh_grant` ON `oauth_refresh` (`grant_id`);--> statement-breakpoint
CREATE INDEX `oauth_refresh_expiry` ON `oauth_refresh` (`expires_at`);--> statement-breakpoint
CREATE TABLE `oauth_registrations` (
	`client_id` text PRIMARY KEY NOT NULL,
	`name` text NOT NULL,
	`redirect_uris` text NOT NULL,
	`created_at` text NOT NULL,
	`last_used_at` text
);
--> statement-breakpoint
CREATE INDEX `oauth_registrations_made` ON `oauth_registrations` (`created_at`);--> statement-breakpoint
CREATE TABLE `oauth_requests` (
	`id` text PRIMARY KEY NOT NULL,
	`browser` text NOT NULL,
	`client` text NOT NULL,
	`redirect_uri` text NOT NULL,
	`state` text,
	`scopes` text NOT NULL,
	`resource` text NOT NULL,
	`code_challenge` text NOT NULL,
	`expires_at` text NOT NULL
);
--> statement-breakpoint
CREATE INDEX `oauth_requests_expiry` ON `oauth_requests` (`expires_at`);