BEGIN TRANSACTION;
CREATE TABLE accounts (
	id VARCHAR(40) NOT NULL, 
	name TEXT NOT NULL, 
	may_create BOOLEAN DEFAULT false NOT NULL, 
	created DOUBLE NOT NULL, 
	disabled DOUBLE, 
	CONSTRAINT pk_accounts PRIMARY KEY (id)
);
INSERT INTO "accounts" VALUES('de0f60adc4cdf6d661d1a5c8','owner',1,1700000000.0,NULL);
INSERT INTO "accounts" VALUES('93546cc9dc5a52e5020f55fa','voter',0,1700000000.0,NULL);
INSERT INTO "accounts" VALUES('6f2e8594dd77a9d9c60d260e','reader',0,1700000000.0,NULL);
INSERT INTO "accounts" VALUES('cd710019755fabad4d4fb687','stranger',0,1700000000.0,NULL);
INSERT INTO "accounts" VALUES('d975cbf074a56d1f1ab3021a','other',0,1700000000.0,NULL);
CREATE TABLE api_keys (
	id VARCHAR(40) NOT NULL, 
	account_id VARCHAR(40) NOT NULL, 
	project_id VARCHAR(40), 
	name TEXT NOT NULL, 
	start VARCHAR(12) NOT NULL, 
	digest VARCHAR(64) NOT NULL, 
	created DOUBLE NOT NULL, 
	used DOUBLE, 
	revoked DOUBLE, 
	CONSTRAINT pk_api_keys PRIMARY KEY (id), 
	CONSTRAINT fk_api_keys_account_id FOREIGN KEY(account_id) REFERENCES accounts (id), 
	CONSTRAINT fk_api_keys_project_id FOREIGN KEY(project_id) REFERENCES projects (id), 
	CONSTRAINT uq_api_keys_digest UNIQUE (digest)
);
INSERT INTO "api_keys" VALUES('315a6ba12c7e50b2b735b6c1','de0f60adc4cdf6d661d1a5c8',NULL,'k','qk_nZJrq','e3559bd4aa7e790c9da0ed59b3e32bd37974190e19b51105b4c943c39171a7c6',1700000000.0,1700000000.0,NULL);
INSERT INTO "api_keys" VALUES('5b39ec65c7bb97b8e38c686b','93546cc9dc5a52e5020f55fa',NULL,'k','qk_Xas59','eb399e045e28d0909c512729e7ce845ee30b8f8724857bca7219bea8ee7d476f',1700000000.0,1700000000.0,NULL);
INSERT INTO "api_keys" VALUES('09f4b3bcae684d6fbd0d6d2f','6f2e8594dd77a9d9c60d260e',NULL,'k','qk_adTAU','a65dea1956f82c5355de83998f97930483e6d53d151330ac1baf2be210158c75',1700000000.0,NULL,NULL);
INSERT INTO "api_keys" VALUES('25921092ff40b973e0b36406','cd710019755fabad4d4fb687',NULL,'k','qk_LNg4b','dca6810fea6ffd0f0bf5205a7ecf4b81b7686857134659219c1cd68ebb83aea7',1700000000.0,NULL,NULL);
INSERT INTO "api_keys" VALUES('3e1006a0b46804fe46b8fa8e','d975cbf074a56d1f1ab3021a',NULL,'k','qk_RAzn4','706d3d356fa08b6853f27bdd37a910335700b5ef8abe5426c8bc172b9883403f',1700000000.0,1700000000.0,NULL);
CREATE TABLE attempts (
	"key" VARCHAR(120) NOT NULL, 
	tokens DOUBLE NOT NULL, 
	time DOUBLE NOT NULL, 
	CONSTRAINT pk_attempts PRIMARY KEY ("key")
);
CREATE TABLE ballots (
	item_id INTEGER NOT NULL, 
	voter VARCHAR(60) NOT NULL, 
	project_id VARCHAR(40) NOT NULL, 
	kind VARCHAR(10) NOT NULL, 
	label TEXT, 
	time DOUBLE NOT NULL, 
	CONSTRAINT pk_ballots PRIMARY KEY (item_id, voter), 
	CONSTRAINT fk_ballots_item_id FOREIGN KEY(item_id) REFERENCES items (id)
);
INSERT INTO "ballots" VALUES(1,'93546cc9dc5a52e5020f55fa','p_9397557cc71739f7','vote','cat',1700000000.0);
INSERT INTO "ballots" VALUES(2,'93546cc9dc5a52e5020f55fa','p_9397557cc71739f7','vote','dog',1700000000.0);
INSERT INTO "ballots" VALUES(3,'93546cc9dc5a52e5020f55fa','p_9397557cc71739f7','vote','cat',1700000000.0);
INSERT INTO "ballots" VALUES(4,'93546cc9dc5a52e5020f55fa','p_9397557cc71739f7','vote','dog',1700000000.0);
INSERT INTO "ballots" VALUES(5,'93546cc9dc5a52e5020f55fa','p_9397557cc71739f7','vote','cat',1700000000.0);
INSERT INTO "ballots" VALUES(1,'d975cbf074a56d1f1ab3021a','p_9397557cc71739f7','vote','cat',1700000000.0);
INSERT INTO "ballots" VALUES(2,'d975cbf074a56d1f1ab3021a','p_9397557cc71739f7','vote','dog',1700000000.0);
INSERT INTO "ballots" VALUES(3,'d975cbf074a56d1f1ab3021a','p_9397557cc71739f7','vote','cat',1700000000.0);
INSERT INTO "ballots" VALUES(4,'d975cbf074a56d1f1ab3021a','p_9397557cc71739f7','vote','dog',1700000000.0);
CREATE TABLE deliveries (
	id VARCHAR(40) NOT NULL, 
	webhook_id VARCHAR(40) NOT NULL, 
	kind VARCHAR(40) NOT NULL, 
	body TEXT NOT NULL, 
	created DOUBLE NOT NULL, 
	due DOUBLE NOT NULL, 
	attempts INTEGER DEFAULT '0' NOT NULL, 
	delivered DOUBLE, 
	failed DOUBLE, 
	problem TEXT, 
	CONSTRAINT pk_deliveries PRIMARY KEY (id), 
	CONSTRAINT fk_deliveries_webhook_id FOREIGN KEY(webhook_id) REFERENCES webhooks (id)
);
CREATE TABLE events (
	id INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT, 
	project_id VARCHAR(40) NOT NULL, 
	item_id INTEGER, 
	seq INTEGER, 
	kind VARCHAR(10) NOT NULL, 
	voter VARCHAR(60), 
	request VARCHAR(200), 
	time DOUBLE NOT NULL, 
	body TEXT NOT NULL, 
	CONSTRAINT fk_events_item_id FOREIGN KEY(item_id) REFERENCES items (id), 
	CONSTRAINT fk_events_project_id FOREIGN KEY(project_id) REFERENCES projects (id), 
	CONSTRAINT uq_events_item_id_seq UNIQUE (item_id, seq)
);
INSERT INTO "events" VALUES(1,'p_9397557cc71739f7',NULL,NULL,'tune',NULL,NULL,1700000000.0,'{"type":"tune","time":1700000000.0,"knobs":{"min_gain":0.002}}');
INSERT INTO "events" VALUES(2,'p_67f66a49168cc37f',NULL,NULL,'tune',NULL,NULL,1700000000.0,'{"type":"tune","time":1700000000.0,"knobs":{"min_gain":0.002}}');
INSERT INTO "events" VALUES(3,'p_9397557cc71739f7',1,1,'open',NULL,NULL,1700000000.0,'{"seq":1,"time":1700000000.0,"type":"open","item":"i0","prediction":[[0.5,0.3,0.2]],"pool_size":3,"min_votes":0,"max_votes":null,"tie_draw":0.6622527255892934,"quota":null,"decision":{"ask":true,"label":"cat","confidence":0.38275000000000003,"num_votes":0,"reason":"ask","params":0,"tune":1}}');
INSERT INTO "events" VALUES(4,'p_9397557cc71739f7',2,1,'open',NULL,NULL,1700000000.0,'{"seq":1,"time":1700000000.0,"type":"open","item":"i1","prediction":[[0.5,0.3,0.2]],"pool_size":3,"min_votes":0,"max_votes":null,"tie_draw":0.1550258934530523,"quota":null,"decision":{"ask":true,"label":"cat","confidence":0.38275000000000003,"num_votes":0,"reason":"ask","params":0,"tune":1}}');
INSERT INTO "events" VALUES(5,'p_9397557cc71739f7',3,1,'open',NULL,NULL,1700000000.0,'{"seq":1,"time":1700000000.0,"type":"open","item":"i2","prediction":[[0.5,0.3,0.2]],"pool_size":3,"min_votes":0,"max_votes":null,"tie_draw":0.2746704171099872,"quota":null,"decision":{"ask":true,"label":"cat","confidence":0.38275000000000003,"num_votes":0,"reason":"ask","params":0,"tune":1}}');
INSERT INTO "events" VALUES(6,'p_9397557cc71739f7',4,1,'open',NULL,NULL,1700000000.0,'{"seq":1,"time":1700000000.0,"type":"open","item":"i3","prediction":[[0.5,0.3,0.2]],"pool_size":3,"min_votes":0,"max_votes":null,"tie_draw":0.8881457047694077,"quota":null,"decision":{"ask":true,"label":"cat","confidence":0.38275000000000003,"num_votes":0,"reason":"ask","params":0,"tune":1}}');
INSERT INTO "events" VALUES(7,'p_9397557cc71739f7',5,1,'open',NULL,NULL,1700000000.0,'{"seq":1,"time":1700000000.0,"type":"open","item":"i4","prediction":[[0.5,0.3,0.2]],"pool_size":3,"min_votes":0,"max_votes":null,"tie_draw":0.2260045808865193,"quota":null,"decision":{"ask":true,"label":"cat","confidence":0.38275000000000003,"num_votes":0,"reason":"ask","params":0,"tune":1}}');
INSERT INTO "events" VALUES(8,'p_9397557cc71739f7',6,1,'open',NULL,NULL,1700000000.0,'{"seq":1,"time":1700000000.0,"type":"open","item":"i5","prediction":[[0.5,0.3,0.2]],"pool_size":3,"min_votes":0,"max_votes":null,"tie_draw":0.21163108316149515,"quota":null,"decision":{"ask":true,"label":"cat","confidence":0.38275000000000003,"num_votes":0,"reason":"ask","params":0,"tune":1}}');
INSERT INTO "events" VALUES(9,'p_9397557cc71739f7',1,2,'vote','93546cc9dc5a52e5020f55fa',NULL,1700000000.0,'{"seq":2,"time":1700000000.0,"type":"vote","item":"i0","voter":"93546cc9dc5a52e5020f55fa","label":"cat","decision":{"ask":true,"label":"cat","confidence":0.743,"num_votes":1,"reason":"ask","params":0,"tune":1}}');
INSERT INTO "events" VALUES(10,'p_9397557cc71739f7',2,2,'vote','93546cc9dc5a52e5020f55fa',NULL,1700000000.0,'{"seq":2,"time":1700000000.0,"type":"vote","item":"i1","voter":"93546cc9dc5a52e5020f55fa","label":"dog","decision":{"ask":true,"label":"dog","confidence":0.707,"num_votes":1,"reason":"ask","params":0,"tune":1}}');
INSERT INTO "events" VALUES(11,'p_9397557cc71739f7',3,2,'vote','93546cc9dc5a52e5020f55fa',NULL,1700000000.0,'{"seq":2,"time":1700000000.0,"type":"vote","item":"i2","voter":"93546cc9dc5a52e5020f55fa","label":"cat","decision":{"ask":true,"label":"cat","confidence":0.743,"num_votes":1,"reason":"ask","params":0,"tune":1}}');
INSERT INTO "events" VALUES(12,'p_9397557cc71739f7',4,2,'vote','93546cc9dc5a52e5020f55fa',NULL,1700000000.0,'{"seq":2,"time":1700000000.0,"type":"vote","item":"i3","voter":"93546cc9dc5a52e5020f55fa","label":"dog","decision":{"ask":true,"label":"dog","confidence":0.707,"num_votes":1,"reason":"ask","params":0,"tune":1}}');
INSERT INTO "events" VALUES(13,'p_9397557cc71739f7',5,2,'vote','93546cc9dc5a52e5020f55fa',NULL,1700000000.0,'{"seq":2,"time":1700000000.0,"type":"vote","item":"i4","voter":"93546cc9dc5a52e5020f55fa","label":"cat","decision":{"ask":true,"label":"cat","confidence":0.743,"num_votes":1,"reason":"ask","params":0,"tune":1}}');
INSERT INTO "events" VALUES(14,'p_9397557cc71739f7',1,3,'vote','d975cbf074a56d1f1ab3021a',NULL,1700000000.0,'{"seq":3,"time":1700000000.0,"type":"vote","item":"i0","voter":"d975cbf074a56d1f1ab3021a","label":"cat","decision":{"ask":false,"label":"cat","confidence":1.0,"num_votes":2,"reason":"settled","params":0,"tune":1},"policy_state":null}');
INSERT INTO "events" VALUES(15,'p_9397557cc71739f7',2,3,'vote','d975cbf074a56d1f1ab3021a',NULL,1700000000.0,'{"seq":3,"time":1700000000.0,"type":"vote","item":"i1","voter":"d975cbf074a56d1f1ab3021a","label":"dog","decision":{"ask":false,"label":"dog","confidence":1.0,"num_votes":2,"reason":"settled","params":0,"tune":1},"policy_state":null}');
INSERT INTO "events" VALUES(16,'p_9397557cc71739f7',3,3,'vote','d975cbf074a56d1f1ab3021a',NULL,1700000000.0,'{"seq":3,"time":1700000000.0,"type":"vote","item":"i2","voter":"d975cbf074a56d1f1ab3021a","label":"cat","decision":{"ask":false,"label":"cat","confidence":1.0,"num_votes":2,"reason":"settled","params":0,"tune":1},"policy_state":null}');
INSERT INTO "events" VALUES(17,'p_9397557cc71739f7',4,3,'vote','d975cbf074a56d1f1ab3021a',NULL,1700000000.0,'{"seq":3,"time":1700000000.0,"type":"vote","item":"i3","voter":"d975cbf074a56d1f1ab3021a","label":"dog","decision":{"ask":false,"label":"dog","confidence":1.0,"num_votes":2,"reason":"settled","params":0,"tune":1},"policy_state":null}');
CREATE TABLE invitations (
	id VARCHAR(40) NOT NULL, 
	project_id VARCHAR(40) NOT NULL, 
	role VARCHAR(10) NOT NULL, 
	name TEXT NOT NULL, 
	digest VARCHAR(64) NOT NULL, 
	most_uses INTEGER, 
	uses INTEGER DEFAULT '0' NOT NULL, 
	created DOUBLE NOT NULL, 
	expires DOUBLE NOT NULL, 
	revoked DOUBLE, 
	CONSTRAINT pk_invitations PRIMARY KEY (id), 
	CONSTRAINT fk_invitations_project_id FOREIGN KEY(project_id) REFERENCES projects (id), 
	CONSTRAINT uq_invitations_digest UNIQUE (digest)
);
CREATE TABLE items (
	id INTEGER NOT NULL, 
	project_id VARCHAR(40) NOT NULL, 
	name VARCHAR(200) NOT NULL, 
	number INTEGER NOT NULL, 
	show TEXT NOT NULL, 
	priority INTEGER DEFAULT '0' NOT NULL, 
	pool_size INTEGER NOT NULL, 
	is_open BOOLEAN NOT NULL, 
	is_wanted BOOLEAN NOT NULL, 
	slots INTEGER NOT NULL, 
	to_close INTEGER NOT NULL, 
	votes TEXT NOT NULL, 
	num_votes INTEGER DEFAULT '0' NOT NULL, 
	num_ballots INTEGER DEFAULT '0' NOT NULL, 
	num_abstained INTEGER DEFAULT '0' NOT NULL, 
	num_late INTEGER DEFAULT '0' NOT NULL, 
	label TEXT NOT NULL, 
	confidence DOUBLE NOT NULL, 
	reason VARCHAR(20) NOT NULL, 
	seq INTEGER NOT NULL, 
	created DOUBLE NOT NULL, 
	closed DOUBLE, 
	first_vote_event BIGINT, 
	closed_event BIGINT, 
	decided_votes INTEGER, 
	audit_rate DOUBLE, 
	audit VARCHAR(10), 
	audit_loss DOUBLE, 
	is_settled BOOLEAN DEFAULT false NOT NULL, 
	is_accounted BOOLEAN DEFAULT false NOT NULL, 
	CONSTRAINT pk_items PRIMARY KEY (id), 
	CONSTRAINT fk_items_project_id FOREIGN KEY(project_id) REFERENCES projects (id), 
	CONSTRAINT uq_items_project_id_name UNIQUE (project_id, name), 
	CONSTRAINT uq_items_project_id_number UNIQUE (project_id, number)
);
INSERT INTO "items" VALUES(1,'p_9397557cc71739f7','i0',0,'{"text": "Look at i0"}',0,3,0,0,0,0,'[2, 0, 0]',2,2,0,0,'cat',1.0,'settled',3,1700000000.0,1700000000.0,9,14,2,NULL,NULL,0.0,1,0);
INSERT INTO "items" VALUES(2,'p_9397557cc71739f7','i1',1,'{"text": "Look at i1"}',0,3,0,0,0,0,'[0, 2, 0]',2,2,0,0,'dog',1.0,'settled',3,1700000000.0,1700000000.0,10,15,2,NULL,NULL,0.0,1,0);
INSERT INTO "items" VALUES(3,'p_9397557cc71739f7','i2',2,'{"text": "Look at i2"}',0,3,0,0,0,0,'[2, 0, 0]',2,2,0,0,'cat',1.0,'settled',3,1700000000.0,1700000000.0,11,16,2,NULL,NULL,0.0,1,0);
INSERT INTO "items" VALUES(4,'p_9397557cc71739f7','i3',3,'{"text": "Look at i3"}',0,3,0,0,0,0,'[0, 2, 0]',2,2,0,0,'dog',1.0,'settled',3,1700000000.0,1700000000.0,12,17,2,NULL,NULL,0.0,1,0);
INSERT INTO "items" VALUES(5,'p_9397557cc71739f7','i4',4,'{"text": "Look at i4"}',0,3,1,1,1,1,'[1, 0, 0]',1,1,0,0,'cat',0.743,'ask',2,1700000000.0,NULL,13,NULL,1,NULL,NULL,NULL,0,0);
INSERT INTO "items" VALUES(6,'p_9397557cc71739f7','i5',5,'{"text": "Look at i5"}',0,3,1,1,1,2,'[0, 0, 0]',0,0,0,0,'cat',3.82750000000000034638e-01,'ask',1,1700000000.0,NULL,NULL,NULL,0,NULL,NULL,NULL,0,0);
CREATE TABLE leases (
	item_id INTEGER NOT NULL, 
	voter VARCHAR(60) NOT NULL, 
	project_id VARCHAR(40) NOT NULL, 
	granted DOUBLE NOT NULL, 
	expires DOUBLE NOT NULL, 
	is_out BOOLEAN NOT NULL, 
	CONSTRAINT pk_leases PRIMARY KEY (item_id, voter), 
	CONSTRAINT fk_leases_item_id FOREIGN KEY(item_id) REFERENCES items (id)
);
CREATE TABLE links (
	digest VARCHAR(64) NOT NULL, 
	account_id VARCHAR(40), 
	project_id VARCHAR(40), 
	created DOUBLE NOT NULL, 
	expires DOUBLE NOT NULL, 
	used DOUBLE, 
	CONSTRAINT pk_links PRIMARY KEY (digest), 
	CONSTRAINT fk_links_account_id FOREIGN KEY(account_id) REFERENCES accounts (id), 
	CONSTRAINT fk_links_project_id FOREIGN KEY(project_id) REFERENCES projects (id)
);
CREATE TABLE memberships (
	project_id VARCHAR(40) NOT NULL, 
	account_id VARCHAR(40) NOT NULL, 
	role VARCHAR(10) NOT NULL, 
	created DOUBLE NOT NULL, 
	removed DOUBLE, 
	CONSTRAINT pk_memberships PRIMARY KEY (project_id, account_id), 
	CONSTRAINT fk_memberships_account_id FOREIGN KEY(account_id) REFERENCES accounts (id), 
	CONSTRAINT fk_memberships_project_id FOREIGN KEY(project_id) REFERENCES projects (id)
);
INSERT INTO "memberships" VALUES('p_9397557cc71739f7','de0f60adc4cdf6d661d1a5c8','owner',1700000000.0,NULL);
INSERT INTO "memberships" VALUES('p_9397557cc71739f7','93546cc9dc5a52e5020f55fa','voter',1700000000.0,NULL);
INSERT INTO "memberships" VALUES('p_9397557cc71739f7','6f2e8594dd77a9d9c60d260e','reader',1700000000.0,NULL);
INSERT INTO "memberships" VALUES('p_9397557cc71739f7','d975cbf074a56d1f1ab3021a','voter',1700000000.0,NULL);
INSERT INTO "memberships" VALUES('p_67f66a49168cc37f','cd710019755fabad4d4fb687','owner',1700000000.0,NULL);
CREATE TABLE projects (
	id VARCHAR(40) NOT NULL, 
	name TEXT NOT NULL, 
	settings TEXT NOT NULL, 
	version INTEGER DEFAULT '1' NOT NULL, 
	state VARCHAR(10) DEFAULT 'active' NOT NULL, 
	created DOUBLE NOT NULL, 
	coin_key VARCHAR(40) DEFAULT '' NOT NULL, 
	next_number INTEGER DEFAULT '0' NOT NULL, 
	learn_event BIGINT DEFAULT '0' NOT NULL, 
	tune_event BIGINT DEFAULT '0' NOT NULL, 
	CONSTRAINT pk_projects PRIMARY KEY (id)
);
INSERT INTO "projects" VALUES('p_9397557cc71739f7','pets','{"classes": ["cat", "dog", "bird"], "pool_size": 3, "models": ["classifier"], "method": "quorate", "threshold": null, "budget": null, "target_error": null, "price": 0.0, "currency": "", "instructions": "", "min_votes": 0, "max_votes": null, "audit_rate": 0.0, "lease_seconds": 120.0, "undo_seconds": 20.0, "window": 500, "refit_every": 20, "seed": 0}',1,'active',1700000000.0,'74dc8b8792d13bfedab4141efe5bb974',6,0,1);
INSERT INTO "projects" VALUES('p_67f66a49168cc37f','theirs','{"classes": ["cat", "dog", "bird"], "pool_size": 5, "models": ["classifier"], "method": "quorate", "threshold": null, "budget": null, "target_error": null, "price": 0.0, "currency": "", "instructions": "", "min_votes": 0, "max_votes": null, "audit_rate": 0.0, "lease_seconds": 120.0, "undo_seconds": 20.0, "window": 500, "refit_every": 20, "seed": 0}',1,'active',1700000000.0,'3725f016631f6407d1a93e9cd8a0e268',0,0,2);
CREATE TABLE quorate_revision (
	version_num VARCHAR(32) NOT NULL, 
	CONSTRAINT quorate_revision_pkc PRIMARY KEY (version_num)
);
INSERT INTO "quorate_revision" VALUES('0001');
CREATE TABLE requests (
	principal VARCHAR(60) NOT NULL, 
	"key" VARCHAR(200) NOT NULL, 
	content VARCHAR(64) NOT NULL, 
	status INTEGER NOT NULL, 
	body TEXT NOT NULL, 
	created DOUBLE NOT NULL, 
	CONSTRAINT pk_requests PRIMARY KEY (principal, "key")
);
CREATE TABLE secrets (
	name VARCHAR(40) NOT NULL, 
	value TEXT NOT NULL, 
	created DOUBLE NOT NULL, 
	CONSTRAINT pk_secrets PRIMARY KEY (name)
);
CREATE TABLE sign_ins (
	digest VARCHAR(64) NOT NULL, 
	account_id VARCHAR(40) NOT NULL, 
	project_id VARCHAR(40), 
	created DOUBLE NOT NULL, 
	expires DOUBLE NOT NULL, 
	revoked DOUBLE, 
	CONSTRAINT pk_sign_ins PRIMARY KEY (digest), 
	CONSTRAINT fk_sign_ins_account_id FOREIGN KEY(account_id) REFERENCES accounts (id), 
	CONSTRAINT fk_sign_ins_project_id FOREIGN KEY(project_id) REFERENCES projects (id)
);
CREATE TABLE stewards (
	project_id VARCHAR(40) NOT NULL, 
	task VARCHAR(20) NOT NULL, 
	holder VARCHAR(40) DEFAULT '' NOT NULL, 
	until DOUBLE DEFAULT '0' NOT NULL, 
	state TEXT DEFAULT '{}' NOT NULL, 
	CONSTRAINT pk_stewards PRIMARY KEY (project_id, task), 
	CONSTRAINT fk_stewards_project_id FOREIGN KEY(project_id) REFERENCES projects (id)
);
CREATE TABLE uploads (
	id VARCHAR(40) NOT NULL, 
	project_id VARCHAR(40) NOT NULL, 
	media_type VARCHAR(40) NOT NULL, 
	digest VARCHAR(64) NOT NULL, 
	content BLOB NOT NULL, 
	created DOUBLE NOT NULL, 
	CONSTRAINT pk_uploads PRIMARY KEY (id), 
	CONSTRAINT fk_uploads_project_id FOREIGN KEY(project_id) REFERENCES projects (id), 
	CONSTRAINT uq_uploads_project_id_digest UNIQUE (project_id, digest)
);
CREATE TABLE webhooks (
	id VARCHAR(40) NOT NULL, 
	project_id VARCHAR(40) NOT NULL, 
	url TEXT NOT NULL, 
	secret TEXT NOT NULL, 
	kinds TEXT NOT NULL, 
	created DOUBLE NOT NULL, 
	removed DOUBLE, 
	CONSTRAINT pk_webhooks PRIMARY KEY (id), 
	CONSTRAINT fk_webhooks_project_id FOREIGN KEY(project_id) REFERENCES projects (id)
);
CREATE INDEX ix_items_busy ON items (project_id, priority DESC, number) WHERE is_wanted = 1 AND slots <= 0;
CREATE INDEX ix_items_closed ON items (project_id, closed_event);
CREATE INDEX ix_items_fresh ON items (project_id, priority DESC, number) WHERE is_wanted = 1 AND slots > 0 AND num_ballots = 0;
CREATE INDEX ix_items_queue ON items (project_id, priority DESC, to_close, number) WHERE is_wanted = 1 AND slots > 0;
CREATE INDEX ix_items_state ON items (project_id, is_open, number);
CREATE INDEX ix_items_unaccounted ON items (project_id, closed_event) WHERE is_open = 0 AND is_accounted = 0;
CREATE INDEX ix_items_window ON items (project_id, first_vote_event DESC);
CREATE INDEX ix_events_project ON events (project_id, id);
CREATE UNIQUE INDEX uq_events_request ON events (project_id, voter, request) WHERE request IS NOT NULL;
CREATE INDEX ix_ballots_voter ON ballots (project_id, voter, time DESC);
CREATE INDEX ix_leases_expires ON leases (project_id, expires) WHERE is_out = 1;
CREATE INDEX ix_leases_voter ON leases (project_id, voter);
CREATE INDEX ix_memberships_account ON memberships (account_id);
CREATE INDEX ix_deliveries_due ON deliveries (due) WHERE delivered IS NULL AND failed IS NULL;
CREATE TRIGGER events_no_update BEFORE UPDATE ON events BEGIN SELECT RAISE(ABORT, 'events are only ever appended to: they are neither changed nor deleted'); END;
CREATE TRIGGER events_no_delete BEFORE DELETE ON events BEGIN SELECT RAISE(ABORT, 'events are only ever appended to: they are neither changed nor deleted'); END;
DELETE FROM "sqlite_sequence";
INSERT INTO "sqlite_sequence" VALUES('events',17);
COMMIT;
