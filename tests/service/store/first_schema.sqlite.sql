BEGIN TRANSACTION;
CREATE TABLE accounts (
	id VARCHAR(40) NOT NULL, 
	name TEXT NOT NULL, 
	may_create BOOLEAN DEFAULT false NOT NULL, 
	created DOUBLE NOT NULL, 
	disabled DOUBLE, 
	CONSTRAINT pk_accounts PRIMARY KEY (id)
);
INSERT INTO "accounts" VALUES('id0','name 0: naïve “quotes”, ''apostrophes'', a	tab, {json: 1}, 100 %, \ and 🙂',1,1700000000.1,1700000000.1);
INSERT INTO "accounts" VALUES('id1','name 1: naïve “quotes”, ''apostrophes'', a	tab, {json: 1}, 100 %, \ and 🙂',0,1.70000000043333315846e+09,1.70000000043333315846e+09);
INSERT INTO "accounts" VALUES('id2','name 2: naïve “quotes”, ''apostrophes'', a	tab, {json: 1}, 100 %, \ and 🙂',1,1.70000000076666665078e+09,NULL);
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
INSERT INTO "api_keys" VALUES('id0','id0','id0','name 0: naïve “quotes”, ''apostrophes'', a	tab, {json: 1}, 100 %, \ and 🙂','start0','digest0',1700000000.1,1700000000.1,1700000000.1);
INSERT INTO "api_keys" VALUES('id1','id1','id1','name 1: naïve “quotes”, ''apostrophes'', a	tab, {json: 1}, 100 %, \ and 🙂','start1','digest1',1.70000000043333315846e+09,1.70000000043333315846e+09,1.70000000043333315846e+09);
INSERT INTO "api_keys" VALUES('id2','id2',NULL,'name 2: naïve “quotes”, ''apostrophes'', a	tab, {json: 1}, 100 %, \ and 🙂','start2','digest2',1.70000000076666665078e+09,NULL,NULL);
CREATE TABLE attempts (
	"key" VARCHAR(120) NOT NULL, 
	tokens DOUBLE NOT NULL, 
	time DOUBLE NOT NULL, 
	CONSTRAINT pk_attempts PRIMARY KEY ("key")
);
INSERT INTO "attempts" VALUES('key0',1700000000.1,1700000000.1);
INSERT INTO "attempts" VALUES('key1',1.70000000043333315846e+09,1.70000000043333315846e+09);
INSERT INTO "attempts" VALUES('key2',1.70000000076666665078e+09,1.70000000076666665078e+09);
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
INSERT INTO "ballots" VALUES(1,'voter0','project_id0','kind0','label 0: naïve “quotes”, ''apostrophes'', a	tab, {json: 1}, 100 %, \ and 🙂',1700000000.1);
INSERT INTO "ballots" VALUES(2,'voter1','project_id1','kind1','label 1: naïve “quotes”, ''apostrophes'', a	tab, {json: 1}, 100 %, \ and 🙂',1.70000000043333315846e+09);
INSERT INTO "ballots" VALUES(3,'voter2','project_id2','kind2',NULL,1.70000000076666665078e+09);
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
INSERT INTO "deliveries" VALUES('id0','id0','kind0','body 0: naïve “quotes”, ''apostrophes'', a	tab, {json: 1}, 100 %, \ and 🙂',1700000000.1,1700000000.1,1,1700000000.1,1700000000.1,'problem 0: naïve “quotes”, ''apostrophes'', a	tab, {json: 1}, 100 %, \ and 🙂');
INSERT INTO "deliveries" VALUES('id1','id1','kind1','body 1: naïve “quotes”, ''apostrophes'', a	tab, {json: 1}, 100 %, \ and 🙂',1.70000000043333315846e+09,1.70000000043333315846e+09,2,1.70000000043333315846e+09,1.70000000043333315846e+09,'problem 1: naïve “quotes”, ''apostrophes'', a	tab, {json: 1}, 100 %, \ and 🙂');
INSERT INTO "deliveries" VALUES('id2','id2','kind2','body 2: naïve “quotes”, ''apostrophes'', a	tab, {json: 1}, 100 %, \ and 🙂',1.70000000076666665078e+09,1.70000000076666665078e+09,3,NULL,NULL,NULL);
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
INSERT INTO "events" VALUES(1,'id0',1,1,'kind0','voter0','request0',1700000000.1,'body 0: naïve “quotes”, ''apostrophes'', a	tab, {json: 1}, 100 %, \ and 🙂');
INSERT INTO "events" VALUES(2,'id1',2,2,'kind1','voter1','request1',1.70000000043333315846e+09,'body 1: naïve “quotes”, ''apostrophes'', a	tab, {json: 1}, 100 %, \ and 🙂');
INSERT INTO "events" VALUES(3,'id2',NULL,NULL,'kind2',NULL,NULL,1.70000000076666665078e+09,'body 2: naïve “quotes”, ''apostrophes'', a	tab, {json: 1}, 100 %, \ and 🙂');
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
INSERT INTO "invitations" VALUES('id0','id0','role0','name 0: naïve “quotes”, ''apostrophes'', a	tab, {json: 1}, 100 %, \ and 🙂','digest0',1,1,1700000000.1,1700000000.1,1700000000.1);
INSERT INTO "invitations" VALUES('id1','id1','role1','name 1: naïve “quotes”, ''apostrophes'', a	tab, {json: 1}, 100 %, \ and 🙂','digest1',2,2,1.70000000043333315846e+09,1.70000000043333315846e+09,1.70000000043333315846e+09);
INSERT INTO "invitations" VALUES('id2','id2','role2','name 2: naïve “quotes”, ''apostrophes'', a	tab, {json: 1}, 100 %, \ and 🙂','digest2',NULL,3,1.70000000076666665078e+09,1.70000000076666665078e+09,NULL);
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
INSERT INTO "items" VALUES(1,'id0','name0',1,'show 0: naïve “quotes”, ''apostrophes'', a	tab, {json: 1}, 100 %, \ and 🙂',1,1,1,1,1,1,'votes 0: naïve “quotes”, ''apostrophes'', a	tab, {json: 1}, 100 %, \ and 🙂',1,1,1,1,'label 0: naïve “quotes”, ''apostrophes'', a	tab, {json: 1}, 100 %, \ and 🙂',1700000000.1,'reason0',1,1700000000.1,1700000000.1,1,1,1,1700000000.1,'audit0',1700000000.1,1,1);
INSERT INTO "items" VALUES(2,'id1','name1',2,'show 1: naïve “quotes”, ''apostrophes'', a	tab, {json: 1}, 100 %, \ and 🙂',2,2,0,0,2,2,'votes 1: naïve “quotes”, ''apostrophes'', a	tab, {json: 1}, 100 %, \ and 🙂',2,2,2,2,'label 1: naïve “quotes”, ''apostrophes'', a	tab, {json: 1}, 100 %, \ and 🙂',1.70000000043333315846e+09,'reason1',2,1.70000000043333315846e+09,1.70000000043333315846e+09,2,2,2,1.70000000043333315846e+09,'audit1',1.70000000043333315846e+09,0,0);
INSERT INTO "items" VALUES(3,'id2','name2',3,'show 2: naïve “quotes”, ''apostrophes'', a	tab, {json: 1}, 100 %, \ and 🙂',3,3,1,1,3,3,'votes 2: naïve “quotes”, ''apostrophes'', a	tab, {json: 1}, 100 %, \ and 🙂',3,3,3,3,'label 2: naïve “quotes”, ''apostrophes'', a	tab, {json: 1}, 100 %, \ and 🙂',1.70000000076666665078e+09,'reason2',3,1.70000000076666665078e+09,NULL,NULL,NULL,NULL,NULL,NULL,NULL,1,1);
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
INSERT INTO "leases" VALUES(1,'voter0','project_id0',1700000000.1,1700000000.1,1);
INSERT INTO "leases" VALUES(2,'voter1','project_id1',1.70000000043333315846e+09,1.70000000043333315846e+09,0);
INSERT INTO "leases" VALUES(3,'voter2','project_id2',1.70000000076666665078e+09,1.70000000076666665078e+09,1);
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
INSERT INTO "links" VALUES('digest0','id0','id0',1700000000.1,1700000000.1,1700000000.1);
INSERT INTO "links" VALUES('digest1','id1','id1',1.70000000043333315846e+09,1.70000000043333315846e+09,1.70000000043333315846e+09);
INSERT INTO "links" VALUES('digest2',NULL,NULL,1.70000000076666665078e+09,1.70000000076666665078e+09,NULL);
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
INSERT INTO "memberships" VALUES('id0','id0','role0',1700000000.1,1700000000.1);
INSERT INTO "memberships" VALUES('id1','id1','role1',1.70000000043333315846e+09,1.70000000043333315846e+09);
INSERT INTO "memberships" VALUES('id2','id2','role2',1.70000000076666665078e+09,NULL);
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
INSERT INTO "projects" VALUES('id0','name 0: naïve “quotes”, ''apostrophes'', a	tab, {json: 1}, 100 %, \ and 🙂','settings 0: naïve “quotes”, ''apostrophes'', a	tab, {json: 1}, 100 %, \ and 🙂',1,'state0',1700000000.1,'coin_key0',1,1,1);
INSERT INTO "projects" VALUES('id1','name 1: naïve “quotes”, ''apostrophes'', a	tab, {json: 1}, 100 %, \ and 🙂','settings 1: naïve “quotes”, ''apostrophes'', a	tab, {json: 1}, 100 %, \ and 🙂',2,'state1',1.70000000043333315846e+09,'coin_key1',2,2,2);
INSERT INTO "projects" VALUES('id2','name 2: naïve “quotes”, ''apostrophes'', a	tab, {json: 1}, 100 %, \ and 🙂','settings 2: naïve “quotes”, ''apostrophes'', a	tab, {json: 1}, 100 %, \ and 🙂',3,'state2',1.70000000076666665078e+09,'coin_key2',3,3,3);
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
INSERT INTO "requests" VALUES('principal0','key0','content0',1,'body 0: naïve “quotes”, ''apostrophes'', a	tab, {json: 1}, 100 %, \ and 🙂',1700000000.1);
INSERT INTO "requests" VALUES('principal1','key1','content1',2,'body 1: naïve “quotes”, ''apostrophes'', a	tab, {json: 1}, 100 %, \ and 🙂',1.70000000043333315846e+09);
INSERT INTO "requests" VALUES('principal2','key2','content2',3,'body 2: naïve “quotes”, ''apostrophes'', a	tab, {json: 1}, 100 %, \ and 🙂',1.70000000076666665078e+09);
CREATE TABLE secrets (
	name VARCHAR(40) NOT NULL, 
	value TEXT NOT NULL, 
	created DOUBLE NOT NULL, 
	CONSTRAINT pk_secrets PRIMARY KEY (name)
);
INSERT INTO "secrets" VALUES('name0','value 0: naïve “quotes”, ''apostrophes'', a	tab, {json: 1}, 100 %, \ and 🙂',1700000000.1);
INSERT INTO "secrets" VALUES('name1','value 1: naïve “quotes”, ''apostrophes'', a	tab, {json: 1}, 100 %, \ and 🙂',1.70000000043333315846e+09);
INSERT INTO "secrets" VALUES('name2','value 2: naïve “quotes”, ''apostrophes'', a	tab, {json: 1}, 100 %, \ and 🙂',1.70000000076666665078e+09);
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
INSERT INTO "sign_ins" VALUES('digest0','id0','id0',1700000000.1,1700000000.1,1700000000.1);
INSERT INTO "sign_ins" VALUES('digest1','id1','id1',1.70000000043333315846e+09,1.70000000043333315846e+09,1.70000000043333315846e+09);
INSERT INTO "sign_ins" VALUES('digest2','id2',NULL,1.70000000076666665078e+09,1.70000000076666665078e+09,NULL);
CREATE TABLE stewards (
	project_id VARCHAR(40) NOT NULL, 
	task VARCHAR(20) NOT NULL, 
	holder VARCHAR(40) DEFAULT '' NOT NULL, 
	until DOUBLE DEFAULT '0' NOT NULL, 
	state TEXT DEFAULT '{}' NOT NULL, 
	CONSTRAINT pk_stewards PRIMARY KEY (project_id, task), 
	CONSTRAINT fk_stewards_project_id FOREIGN KEY(project_id) REFERENCES projects (id)
);
INSERT INTO "stewards" VALUES('id0','task0','holder0',1700000000.1,'state 0: naïve “quotes”, ''apostrophes'', a	tab, {json: 1}, 100 %, \ and 🙂');
INSERT INTO "stewards" VALUES('id1','task1','holder1',1.70000000043333315846e+09,'state 1: naïve “quotes”, ''apostrophes'', a	tab, {json: 1}, 100 %, \ and 🙂');
INSERT INTO "stewards" VALUES('id2','task2','holder2',1.70000000076666665078e+09,'state 2: naïve “quotes”, ''apostrophes'', a	tab, {json: 1}, 100 %, \ and 🙂');
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
INSERT INTO "uploads" VALUES('id0','id0','media_type0','digest0',X'000102030405060708090A0B0C0D0E0F101112131415161718191A1B1C1D1E1F202122232425262728292A2B2C2D2E2F303132333435363738393A3B3C3D3E3F404142434445464748494A4B4C4D4E4F505152535455565758595A5B5C5D5E5F606162636465666768696A6B6C6D6E6F707172737475767778797A7B7C7D7E7F808182838485868788898A8B8C8D8E8F909192939495969798999A9B9C9D9E9FA0A1A2A3A4A5A6A7A8A9AAABACADAEAFB0B1B2B3B4B5B6B7B8B9BABBBCBDBEBFC0C1C2C3C4C5C6C7C8C9CACBCCCDCECFD0D1D2D3D4D5D6D7D8D9DADBDCDDDEDFE0E1E2E3E4E5E6E7E8E9EAEBECEDEEEFF0F1F2F3F4F5F6F7F8F9FAFBFCFDFEFF',1700000000.1);
INSERT INTO "uploads" VALUES('id1','id1','media_type1','digest1',X'000102030405060708090A0B0C0D0E0F101112131415161718191A1B1C1D1E1F202122232425262728292A2B2C2D2E2F303132333435363738393A3B3C3D3E3F404142434445464748494A4B4C4D4E4F505152535455565758595A5B5C5D5E5F606162636465666768696A6B6C6D6E6F707172737475767778797A7B7C7D7E7F808182838485868788898A8B8C8D8E8F909192939495969798999A9B9C9D9E9FA0A1A2A3A4A5A6A7A8A9AAABACADAEAFB0B1B2B3B4B5B6B7B8B9BABBBCBDBEBFC0C1C2C3C4C5C6C7C8C9CACBCCCDCECFD0D1D2D3D4D5D6D7D8D9DADBDCDDDEDFE0E1E2E3E4E5E6E7E8E9EAEBECEDEEEFF0F1F2F3F4F5F6F7F8F9FAFBFCFDFEFF000102030405060708090A0B0C0D0E0F101112131415161718191A1B1C1D1E1F202122232425262728292A2B2C2D2E2F303132333435363738393A3B3C3D3E3F404142434445464748494A4B4C4D4E4F505152535455565758595A5B5C5D5E5F606162636465666768696A6B6C6D6E6F707172737475767778797A7B7C7D7E7F808182838485868788898A8B8C8D8E8F909192939495969798999A9B9C9D9E9FA0A1A2A3A4A5A6A7A8A9AAABACADAEAFB0B1B2B3B4B5B6B7B8B9BABBBCBDBEBFC0C1C2C3C4C5C6C7C8C9CACBCCCDCECFD0D1D2D3D4D5D6D7D8D9DADBDCDDDEDFE0E1E2E3E4E5E6E7E8E9EAEBECEDEEEFF0F1F2F3F4F5F6F7F8F9FAFBFCFDFEFF',1.70000000043333315846e+09);
INSERT INTO "uploads" VALUES('id2','id2','media_type2','digest2',X'000102030405060708090A0B0C0D0E0F101112131415161718191A1B1C1D1E1F202122232425262728292A2B2C2D2E2F303132333435363738393A3B3C3D3E3F404142434445464748494A4B4C4D4E4F505152535455565758595A5B5C5D5E5F606162636465666768696A6B6C6D6E6F707172737475767778797A7B7C7D7E7F808182838485868788898A8B8C8D8E8F909192939495969798999A9B9C9D9E9FA0A1A2A3A4A5A6A7A8A9AAABACADAEAFB0B1B2B3B4B5B6B7B8B9BABBBCBDBEBFC0C1C2C3C4C5C6C7C8C9CACBCCCDCECFD0D1D2D3D4D5D6D7D8D9DADBDCDDDEDFE0E1E2E3E4E5E6E7E8E9EAEBECEDEEEFF0F1F2F3F4F5F6F7F8F9FAFBFCFDFEFF000102030405060708090A0B0C0D0E0F101112131415161718191A1B1C1D1E1F202122232425262728292A2B2C2D2E2F303132333435363738393A3B3C3D3E3F404142434445464748494A4B4C4D4E4F505152535455565758595A5B5C5D5E5F606162636465666768696A6B6C6D6E6F707172737475767778797A7B7C7D7E7F808182838485868788898A8B8C8D8E8F909192939495969798999A9B9C9D9E9FA0A1A2A3A4A5A6A7A8A9AAABACADAEAFB0B1B2B3B4B5B6B7B8B9BABBBCBDBEBFC0C1C2C3C4C5C6C7C8C9CACBCCCDCECFD0D1D2D3D4D5D6D7D8D9DADBDCDDDEDFE0E1E2E3E4E5E6E7E8E9EAEBECEDEEEFF0F1F2F3F4F5F6F7F8F9FAFBFCFDFEFF000102030405060708090A0B0C0D0E0F101112131415161718191A1B1C1D1E1F202122232425262728292A2B2C2D2E2F303132333435363738393A3B3C3D3E3F404142434445464748494A4B4C4D4E4F505152535455565758595A5B5C5D5E5F606162636465666768696A6B6C6D6E6F707172737475767778797A7B7C7D7E7F808182838485868788898A8B8C8D8E8F909192939495969798999A9B9C9D9E9FA0A1A2A3A4A5A6A7A8A9AAABACADAEAFB0B1B2B3B4B5B6B7B8B9BABBBCBDBEBFC0C1C2C3C4C5C6C7C8C9CACBCCCDCECFD0D1D2D3D4D5D6D7D8D9DADBDCDDDEDFE0E1E2E3E4E5E6E7E8E9EAEBECEDEEEFF0F1F2F3F4F5F6F7F8F9FAFBFCFDFEFF',1.70000000076666665078e+09);
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
INSERT INTO "webhooks" VALUES('id0','id0','url 0: naïve “quotes”, ''apostrophes'', a	tab, {json: 1}, 100 %, \ and 🙂','secret 0: naïve “quotes”, ''apostrophes'', a	tab, {json: 1}, 100 %, \ and 🙂','kinds 0: naïve “quotes”, ''apostrophes'', a	tab, {json: 1}, 100 %, \ and 🙂',1700000000.1,1700000000.1);
INSERT INTO "webhooks" VALUES('id1','id1','url 1: naïve “quotes”, ''apostrophes'', a	tab, {json: 1}, 100 %, \ and 🙂','secret 1: naïve “quotes”, ''apostrophes'', a	tab, {json: 1}, 100 %, \ and 🙂','kinds 1: naïve “quotes”, ''apostrophes'', a	tab, {json: 1}, 100 %, \ and 🙂',1.70000000043333315846e+09,1.70000000043333315846e+09);
INSERT INTO "webhooks" VALUES('id2','id2','url 2: naïve “quotes”, ''apostrophes'', a	tab, {json: 1}, 100 %, \ and 🙂','secret 2: naïve “quotes”, ''apostrophes'', a	tab, {json: 1}, 100 %, \ and 🙂','kinds 2: naïve “quotes”, ''apostrophes'', a	tab, {json: 1}, 100 %, \ and 🙂',1.70000000076666665078e+09,NULL);
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
INSERT INTO "sqlite_sequence" VALUES('events',3);
COMMIT;
