CREATE TABLE `candidates` (
	`id` text PRIMARY KEY NOT NULL,
	`checksum` text NOT NULL,
	`content` text NOT NULL,
	`counts` text NOT NULL,
	`note` text,
	`allowed` text NOT NULL,
	`actor` text NOT NULL,
	`created_at` text NOT NULL,
	`expires_at` text NOT NULL,
	`digest` text,
	`token_prefix` text
);
