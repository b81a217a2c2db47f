SET statement_timeout = 0;
SET lock_timeout = 0;
SET idle_in_transaction_session_timeout = 0;
SET client_encoding = 'UTF8';
SET standard_conforming_strings = on;
SELECT pg_catalog.set_config('search_path', '', false);
SET check_function_bodies = false;
SET xmloption = content;
SET client_min_messages = warning;
SET row_security = off;
CREATE FUNCTION public.events_only_appended() RETURNS trigger
    LANGUAGE plpgsql
    AS $$ BEGIN RAISE EXCEPTION 'events are only ever appended to: they are neither changed nor deleted' USING ERRCODE = 'restrict_violation'; END $$;
SET default_tablespace = '';
SET default_table_access_method = heap;
CREATE TABLE public.accounts (
    id character varying(40) NOT NULL,
    name text NOT NULL,
    may_create boolean DEFAULT false NOT NULL,
    created double precision NOT NULL,
    disabled double precision
);
CREATE TABLE public.api_keys (
    id character varying(40) NOT NULL,
    account_id character varying(40) NOT NULL,
    project_id character varying(40),
    name text NOT NULL,
    start character varying(12) NOT NULL,
    digest character varying(64) NOT NULL,
    created double precision NOT NULL,
    used double precision,
    revoked double precision
);
CREATE TABLE public.attempts (
    key character varying(120) NOT NULL,
    tokens double precision NOT NULL,
    "time" double precision NOT NULL
);
CREATE TABLE public.ballots (
    item_id bigint NOT NULL,
    voter character varying(60) NOT NULL,
    project_id character varying(40) NOT NULL,
    kind character varying(10) NOT NULL,
    label text,
    "time" double precision NOT NULL
);
CREATE TABLE public.deliveries (
    id character varying(40) NOT NULL,
    webhook_id character varying(40) NOT NULL,
    kind character varying(40) NOT NULL,
    body text NOT NULL,
    created double precision NOT NULL,
    due double precision NOT NULL,
    attempts integer DEFAULT 0 NOT NULL,
    delivered double precision,
    failed double precision,
    problem text
);
CREATE TABLE public.events (
    id bigint NOT NULL,
    project_id character varying(40) NOT NULL,
    item_id bigint,
    seq integer,
    kind character varying(10) NOT NULL,
    voter character varying(60),
    request character varying(200),
    "time" double precision NOT NULL,
    body text NOT NULL
);
CREATE SEQUENCE public.events_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1;
ALTER SEQUENCE public.events_id_seq OWNED BY public.events.id;
CREATE TABLE public.invitations (
    id character varying(40) NOT NULL,
    project_id character varying(40) NOT NULL,
    role character varying(10) NOT NULL,
    name text NOT NULL,
    digest character varying(64) NOT NULL,
    most_uses integer,
    uses integer DEFAULT 0 NOT NULL,
    created double precision NOT NULL,
    expires double precision NOT NULL,
    revoked double precision
);
CREATE TABLE public.items (
    id bigint NOT NULL,
    project_id character varying(40) NOT NULL,
    name character varying(200) NOT NULL,
    number integer NOT NULL,
    show text NOT NULL,
    priority integer DEFAULT 0 NOT NULL,
    pool_size integer NOT NULL,
    is_open boolean NOT NULL,
    is_wanted boolean NOT NULL,
    slots integer NOT NULL,
    to_close integer NOT NULL,
    votes text NOT NULL,
    num_votes integer DEFAULT 0 NOT NULL,
    num_ballots integer DEFAULT 0 NOT NULL,
    num_abstained integer DEFAULT 0 NOT NULL,
    num_late integer DEFAULT 0 NOT NULL,
    label text NOT NULL,
    confidence double precision NOT NULL,
    reason character varying(20) NOT NULL,
    seq integer NOT NULL,
    created double precision NOT NULL,
    closed double precision,
    first_vote_event bigint,
    closed_event bigint,
    decided_votes integer,
    audit_rate double precision,
    audit character varying(10),
    audit_loss double precision,
    is_settled boolean DEFAULT false NOT NULL,
    is_accounted boolean DEFAULT false NOT NULL
);
CREATE SEQUENCE public.items_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1;
ALTER SEQUENCE public.items_id_seq OWNED BY public.items.id;
CREATE TABLE public.leases (
    item_id bigint NOT NULL,
    voter character varying(60) NOT NULL,
    project_id character varying(40) NOT NULL,
    granted double precision NOT NULL,
    expires double precision NOT NULL,
    is_out boolean NOT NULL
);
CREATE TABLE public.links (
    digest character varying(64) NOT NULL,
    account_id character varying(40),
    project_id character varying(40),
    created double precision NOT NULL,
    expires double precision NOT NULL,
    used double precision
);
CREATE TABLE public.memberships (
    project_id character varying(40) NOT NULL,
    account_id character varying(40) NOT NULL,
    role character varying(10) NOT NULL,
    created double precision NOT NULL,
    removed double precision
);
CREATE TABLE public.projects (
    id character varying(40) NOT NULL,
    name text NOT NULL,
    settings text NOT NULL,
    version integer DEFAULT 1 NOT NULL,
    state character varying(10) DEFAULT 'active'::character varying NOT NULL,
    created double precision NOT NULL,
    coin_key character varying(40) DEFAULT ''::character varying NOT NULL,
    next_number integer DEFAULT 0 NOT NULL,
    learn_event bigint DEFAULT '0'::bigint NOT NULL,
    tune_event bigint DEFAULT '0'::bigint NOT NULL
);
CREATE TABLE public.quorate_revision (
    version_num character varying(32) NOT NULL
);
CREATE TABLE public.requests (
    principal character varying(60) NOT NULL,
    key character varying(200) NOT NULL,
    content character varying(64) NOT NULL,
    status integer NOT NULL,
    body text NOT NULL,
    created double precision NOT NULL
);
CREATE TABLE public.secrets (
    name character varying(40) NOT NULL,
    value text NOT NULL,
    created double precision NOT NULL
);
CREATE TABLE public.sign_ins (
    digest character varying(64) NOT NULL,
    account_id character varying(40) NOT NULL,
    project_id character varying(40),
    created double precision NOT NULL,
    expires double precision NOT NULL,
    revoked double precision
);
CREATE TABLE public.stewards (
    project_id character varying(40) NOT NULL,
    task character varying(20) NOT NULL,
    holder character varying(40) DEFAULT ''::character varying NOT NULL,
    until double precision DEFAULT '0'::double precision NOT NULL,
    state text DEFAULT '{}'::text NOT NULL
);
CREATE TABLE public.uploads (
    id character varying(40) NOT NULL,
    project_id character varying(40) NOT NULL,
    media_type character varying(40) NOT NULL,
    digest character varying(64) NOT NULL,
    content bytea NOT NULL,
    created double precision NOT NULL
);
CREATE TABLE public.webhooks (
    id character varying(40) NOT NULL,
    project_id character varying(40) NOT NULL,
    url text NOT NULL,
    secret text NOT NULL,
    kinds text NOT NULL,
    created double precision NOT NULL,
    removed double precision
);
ALTER TABLE ONLY public.events ALTER COLUMN id SET DEFAULT nextval('public.events_id_seq'::regclass);
ALTER TABLE ONLY public.items ALTER COLUMN id SET DEFAULT nextval('public.items_id_seq'::regclass);
INSERT INTO public.accounts VALUES ('id0', 'name 0: naïve “quotes”, ''apostrophes'', a	tab, {json: 1}, 100 %, \ and 🙂', true, 1700000000.1, 1700000000.1);
INSERT INTO public.accounts VALUES ('id1', 'name 1: naïve “quotes”, ''apostrophes'', a	tab, {json: 1}, 100 %, \ and 🙂', false, 1700000000.4333332, 1700000000.4333332);
INSERT INTO public.accounts VALUES ('id2', 'name 2: naïve “quotes”, ''apostrophes'', a	tab, {json: 1}, 100 %, \ and 🙂', true, 1700000000.7666667, NULL);
INSERT INTO public.api_keys VALUES ('id0', 'id0', 'id0', 'name 0: naïve “quotes”, ''apostrophes'', a	tab, {json: 1}, 100 %, \ and 🙂', 'start0', 'digest0', 1700000000.1, 1700000000.1, 1700000000.1);
INSERT INTO public.api_keys VALUES ('id1', 'id1', 'id1', 'name 1: naïve “quotes”, ''apostrophes'', a	tab, {json: 1}, 100 %, \ and 🙂', 'start1', 'digest1', 1700000000.4333332, 1700000000.4333332, 1700000000.4333332);
INSERT INTO public.api_keys VALUES ('id2', 'id2', NULL, 'name 2: naïve “quotes”, ''apostrophes'', a	tab, {json: 1}, 100 %, \ and 🙂', 'start2', 'digest2', 1700000000.7666667, NULL, NULL);
INSERT INTO public.attempts VALUES ('key0', 1700000000.1, 1700000000.1);
INSERT INTO public.attempts VALUES ('key1', 1700000000.4333332, 1700000000.4333332);
INSERT INTO public.attempts VALUES ('key2', 1700000000.7666667, 1700000000.7666667);
INSERT INTO public.ballots VALUES (1, 'voter0', 'project_id0', 'kind0', 'label 0: naïve “quotes”, ''apostrophes'', a	tab, {json: 1}, 100 %, \ and 🙂', 1700000000.1);
INSERT INTO public.ballots VALUES (2, 'voter1', 'project_id1', 'kind1', 'label 1: naïve “quotes”, ''apostrophes'', a	tab, {json: 1}, 100 %, \ and 🙂', 1700000000.4333332);
INSERT INTO public.ballots VALUES (3, 'voter2', 'project_id2', 'kind2', NULL, 1700000000.7666667);
INSERT INTO public.deliveries VALUES ('id0', 'id0', 'kind0', 'body 0: naïve “quotes”, ''apostrophes'', a	tab, {json: 1}, 100 %, \ and 🙂', 1700000000.1, 1700000000.1, 1, 1700000000.1, 1700000000.1, 'problem 0: naïve “quotes”, ''apostrophes'', a	tab, {json: 1}, 100 %, \ and 🙂');
INSERT INTO public.deliveries VALUES ('id1', 'id1', 'kind1', 'body 1: naïve “quotes”, ''apostrophes'', a	tab, {json: 1}, 100 %, \ and 🙂', 1700000000.4333332, 1700000000.4333332, 2, 1700000000.4333332, 1700000000.4333332, 'problem 1: naïve “quotes”, ''apostrophes'', a	tab, {json: 1}, 100 %, \ and 🙂');
INSERT INTO public.deliveries VALUES ('id2', 'id2', 'kind2', 'body 2: naïve “quotes”, ''apostrophes'', a	tab, {json: 1}, 100 %, \ and 🙂', 1700000000.7666667, 1700000000.7666667, 3, NULL, NULL, NULL);
INSERT INTO public.events VALUES (1, 'id0', 1, 1, 'kind0', 'voter0', 'request0', 1700000000.1, 'body 0: naïve “quotes”, ''apostrophes'', a	tab, {json: 1}, 100 %, \ and 🙂');
INSERT INTO public.events VALUES (2, 'id1', 2, 2, 'kind1', 'voter1', 'request1', 1700000000.4333332, 'body 1: naïve “quotes”, ''apostrophes'', a	tab, {json: 1}, 100 %, \ and 🙂');
INSERT INTO public.events VALUES (3, 'id2', NULL, NULL, 'kind2', NULL, NULL, 1700000000.7666667, 'body 2: naïve “quotes”, ''apostrophes'', a	tab, {json: 1}, 100 %, \ and 🙂');
INSERT INTO public.invitations VALUES ('id0', 'id0', 'role0', 'name 0: naïve “quotes”, ''apostrophes'', a	tab, {json: 1}, 100 %, \ and 🙂', 'digest0', 1, 1, 1700000000.1, 1700000000.1, 1700000000.1);
INSERT INTO public.invitations VALUES ('id1', 'id1', 'role1', 'name 1: naïve “quotes”, ''apostrophes'', a	tab, {json: 1}, 100 %, \ and 🙂', 'digest1', 2, 2, 1700000000.4333332, 1700000000.4333332, 1700000000.4333332);
INSERT INTO public.invitations VALUES ('id2', 'id2', 'role2', 'name 2: naïve “quotes”, ''apostrophes'', a	tab, {json: 1}, 100 %, \ and 🙂', 'digest2', NULL, 3, 1700000000.7666667, 1700000000.7666667, NULL);
INSERT INTO public.items VALUES (1, 'id0', 'name0', 1, 'show 0: naïve “quotes”, ''apostrophes'', a	tab, {json: 1}, 100 %, \ and 🙂', 1, 1, true, true, 1, 1, 'votes 0: naïve “quotes”, ''apostrophes'', a	tab, {json: 1}, 100 %, \ and 🙂', 1, 1, 1, 1, 'label 0: naïve “quotes”, ''apostrophes'', a	tab, {json: 1}, 100 %, \ and 🙂', 1700000000.1, 'reason0', 1, 1700000000.1, 1700000000.1, 1, 1, 1, 1700000000.1, 'audit0', 1700000000.1, true, true);
INSERT INTO public.items VALUES (2, 'id1', 'name1', 2, 'show 1: naïve “quotes”, ''apostrophes'', a	tab, {json: 1}, 100 %, \ and 🙂', 2, 2, false, false, 2, 2, 'votes 1: naïve “quotes”, ''apostrophes'', a	tab, {json: 1}, 100 %, \ and 🙂', 2, 2, 2, 2, 'label 1: naïve “quotes”, ''apostrophes'', a	tab, {json: 1}, 100 %, \ and 🙂', 1700000000.4333332, 'reason1', 2, 1700000000.4333332, 1700000000.4333332, 2, 2, 2, 1700000000.4333332, 'audit1', 1700000000.4333332, false, false);
INSERT INTO public.items VALUES (3, 'id2', 'name2', 3, 'show 2: naïve “quotes”, ''apostrophes'', a	tab, {json: 1}, 100 %, \ and 🙂', 3, 3, true, true, 3, 3, 'votes 2: naïve “quotes”, ''apostrophes'', a	tab, {json: 1}, 100 %, \ and 🙂', 3, 3, 3, 3, 'label 2: naïve “quotes”, ''apostrophes'', a	tab, {json: 1}, 100 %, \ and 🙂', 1700000000.7666667, 'reason2', 3, 1700000000.7666667, NULL, NULL, NULL, NULL, NULL, NULL, NULL, true, true);
INSERT INTO public.leases VALUES (1, 'voter0', 'project_id0', 1700000000.1, 1700000000.1, true);
INSERT INTO public.leases VALUES (2, 'voter1', 'project_id1', 1700000000.4333332, 1700000000.4333332, false);
INSERT INTO public.leases VALUES (3, 'voter2', 'project_id2', 1700000000.7666667, 1700000000.7666667, true);
INSERT INTO public.links VALUES ('digest0', 'id0', 'id0', 1700000000.1, 1700000000.1, 1700000000.1);
INSERT INTO public.links VALUES ('digest1', 'id1', 'id1', 1700000000.4333332, 1700000000.4333332, 1700000000.4333332);
INSERT INTO public.links VALUES ('digest2', NULL, NULL, 1700000000.7666667, 1700000000.7666667, NULL);
INSERT INTO public.memberships VALUES ('id0', 'id0', 'role0', 1700000000.1, 1700000000.1);
INSERT INTO public.memberships VALUES ('id1', 'id1', 'role1', 1700000000.4333332, 1700000000.4333332);
INSERT INTO public.memberships VALUES ('id2', 'id2', 'role2', 1700000000.7666667, NULL);
INSERT INTO public.projects VALUES ('id0', 'name 0: naïve “quotes”, ''apostrophes'', a	tab, {json: 1}, 100 %, \ and 🙂', 'settings 0: naïve “quotes”, ''apostrophes'', a	tab, {json: 1}, 100 %, \ and 🙂', 1, 'state0', 1700000000.1, 'coin_key0', 1, 1, 1);
INSERT INTO public.projects VALUES ('id1', 'name 1: naïve “quotes”, ''apostrophes'', a	tab, {json: 1}, 100 %, \ and 🙂', 'settings 1: naïve “quotes”, ''apostrophes'', a	tab, {json: 1}, 100 %, \ and 🙂', 2, 'state1', 1700000000.4333332, 'coin_key1', 2, 2, 2);
INSERT INTO public.projects VALUES ('id2', 'name 2: naïve “quotes”, ''apostrophes'', a	tab, {json: 1}, 100 %, \ and 🙂', 'settings 2: naïve “quotes”, ''apostrophes'', a	tab, {json: 1}, 100 %, \ and 🙂', 3, 'state2', 1700000000.7666667, 'coin_key2', 3, 3, 3);
INSERT INTO public.quorate_revision VALUES ('0001');
INSERT INTO public.requests VALUES ('principal0', 'key0', 'content0', 1, 'body 0: naïve “quotes”, ''apostrophes'', a	tab, {json: 1}, 100 %, \ and 🙂', 1700000000.1);
INSERT INTO public.requests VALUES ('principal1', 'key1', 'content1', 2, 'body 1: naïve “quotes”, ''apostrophes'', a	tab, {json: 1}, 100 %, \ and 🙂', 1700000000.4333332);
INSERT INTO public.requests VALUES ('principal2', 'key2', 'content2', 3, 'body 2: naïve “quotes”, ''apostrophes'', a	tab, {json: 1}, 100 %, \ and 🙂', 1700000000.7666667);
INSERT INTO public.secrets VALUES ('name0', 'value 0: naïve “quotes”, ''apostrophes'', a	tab, {json: 1}, 100 %, \ and 🙂', 1700000000.1);
INSERT INTO public.secrets VALUES ('name1', 'value 1: naïve “quotes”, ''apostrophes'', a	tab, {json: 1}, 100 %, \ and 🙂', 1700000000.4333332);
INSERT INTO public.secrets VALUES ('name2', 'value 2: naïve “quotes”, ''apostrophes'', a	tab, {json: 1}, 100 %, \ and 🙂', 1700000000.7666667);
INSERT INTO public.sign_ins VALUES ('digest0', 'id0', 'id0', 1700000000.1, 1700000000.1, 1700000000.1);
INSERT INTO public.sign_ins VALUES ('digest1', 'id1', 'id1', 1700000000.4333332, 1700000000.4333332, 1700000000.4333332);
INSERT INTO public.sign_ins VALUES ('digest2', 'id2', NULL, 1700000000.7666667, 1700000000.7666667, NULL);
INSERT INTO public.stewards VALUES ('id0', 'task0', 'holder0', 1700000000.1, 'state 0: naïve “quotes”, ''apostrophes'', a	tab, {json: 1}, 100 %, \ and 🙂');
INSERT INTO public.stewards VALUES ('id1', 'task1', 'holder1', 1700000000.4333332, 'state 1: naïve “quotes”, ''apostrophes'', a	tab, {json: 1}, 100 %, \ and 🙂');
INSERT INTO public.stewards VALUES ('id2', 'task2', 'holder2', 1700000000.7666667, 'state 2: naïve “quotes”, ''apostrophes'', a	tab, {json: 1}, 100 %, \ and 🙂');
INSERT INTO public.uploads VALUES ('id0', 'id0', 'media_type0', 'digest0', '\x000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f202122232425262728292a2b2c2d2e2f303132333435363738393a3b3c3d3e3f404142434445464748494a4b4c4d4e4f505152535455565758595a5b5c5d5e5f606162636465666768696a6b6c6d6e6f707172737475767778797a7b7c7d7e7f808182838485868788898a8b8c8d8e8f909192939495969798999a9b9c9d9e9fa0a1a2a3a4a5a6a7a8a9aaabacadaeafb0b1b2b3b4b5b6b7b8b9babbbcbdbebfc0c1c2c3c4c5c6c7c8c9cacbcccdcecfd0d1d2d3d4d5d6d7d8d9dadbdcdddedfe0e1e2e3e4e5e6e7e8e9eaebecedeeeff0f1f2f3f4f5f6f7f8f9fafbfcfdfeff', 1700000000.1);
INSERT INTO public.uploads VALUES ('id1', 'id1', 'media_type1', 'digest1', '\x000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f202122232425262728292a2b2c2d2e2f303132333435363738393a3b3c3d3e3f404142434445464748494a4b4c4d4e4f505152535455565758595a5b5c5d5e5f606162636465666768696a6b6c6d6e6f707172737475767778797a7b7c7d7e7f808182838485868788898a8b8c8d8e8f909192939495969798999a9b9c9d9e9fa0a1a2a3a4a5a6a7a8a9aaabacadaeafb0b1b2b3b4b5b6b7b8b9babbbcbdbebfc0c1c2c3c4c5c6c7c8c9cacbcccdcecfd0d1d2d3d4d5d6d7d8d9dadbdcdddedfe0e1e2e3e4e5e6e7e8e9eaebecedeeeff0f1f2f3f4f5f6f7f8f9fafbfcfdfeff000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f202122232425262728292a2b2c2d2e2f303132333435363738393a3b3c3d3e3f404142434445464748494a4b4c4d4e4f505152535455565758595a5b5c5d5e5f606162636465666768696a6b6c6d6e6f707172737475767778797a7b7c7d7e7f808182838485868788898a8b8c8d8e8f909192939495969798999a9b9c9d9e9fa0a1a2a3a4a5a6a7a8a9aaabacadaeafb0b1b2b3b4b5b6b7b8b9babbbcbdbebfc0c1c2c3c4c5c6c7c8c9cacbcccdcecfd0d1d2d3d4d5d6d7d8d9dadbdcdddedfe0e1e2e3e4e5e6e7e8e9eaebecedeeeff0f1f2f3f4f5f6f7f8f9fafbfcfdfeff', 1700000000.4333332);
INSERT INTO public.uploads VALUES ('id2', 'id2', 'media_type2', 'digest2', '\x000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f202122232425262728292a2b2c2d2e2f303132333435363738393a3b3c3d3e3f404142434445464748494a4b4c4d4e4f505152535455565758595a5b5c5d5e5f606162636465666768696a6b6c6d6e6f707172737475767778797a7b7c7d7e7f808182838485868788898a8b8c8d8e8f909192939495969798999a9b9c9d9e9fa0a1a2a3a4a5a6a7a8a9aaabacadaeafb0b1b2b3b4b5b6b7b8b9babbbcbdbebfc0c1c2c3c4c5c6c7c8c9cacbcccdcecfd0d1d2d3d4d5d6d7d8d9dadbdcdddedfe0e1e2e3e4e5e6e7e8e9eaebecedeeeff0f1f2f3f4f5f6f7f8f9fafbfcfdfeff000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f202122232425262728292a2b2c2d2e2f303132333435363738393a3b3c3d3e3f404142434445464748494a4b4c4d4e4f505152535455565758595a5b5c5d5e5f606162636465666768696a6b6c6d6e6f707172737475767778797a7b7c7d7e7f808182838485868788898a8b8c8d8e8f909192939495969798999a9b9c9d9e9fa0a1a2a3a4a5a6a7a8a9aaabacadaeafb0b1b2b3b4b5b6b7b8b9babbbcbdbebfc0c1c2c3c4c5c6c7c8c9cacbcccdcecfd0d1d2d3d4d5d6d7d8d9dadbdcdddedfe0e1e2e3e4e5e6e7e8e9eaebecedeeeff0f1f2f3f4f5f6f7f8f9fafbfcfdfeff000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f202122232425262728292a2b2c2d2e2f303132333435363738393a3b3c3d3e3f404142434445464748494a4b4c4d4e4f505152535455565758595a5b5c5d5e5f606162636465666768696a6b6c6d6e6f707172737475767778797a7b7c7d7e7f808182838485868788898a8b8c8d8e8f909192939495969798999a9b9c9d9e9fa0a1a2a3a4a5a6a7a8a9aaabacadaeafb0b1b2b3b4b5b6b7b8b9babbbcbdbebfc0c1c2c3c4c5c6c7c8c9cacbcccdcecfd0d1d2d3d4d5d6d7d8d9dadbdcdddedfe0e1e2e3e4e5e6e7e8e9eaebecedeeeff0f1f2f3f4f5f6f7f8f9fafbfcfdfeff', 1700000000.7666667);
INSERT INTO public.webhooks VALUES ('id0', 'id0', 'url 0: naïve “quotes”, ''apostrophes'', a	tab, {json: 1}, 100 %, \ and 🙂', 'secret 0: naïve “quotes”, ''apostrophes'', a	tab, {json: 1}, 100 %, \ and 🙂', 'kinds 0: naïve “quotes”, ''apostrophes'', a	tab, {json: 1}, 100 %, \ and 🙂', 1700000000.1, 1700000000.1);
INSERT INTO public.webhooks VALUES ('id1', 'id1', 'url 1: naïve “quotes”, ''apostrophes'', a	tab, {json: 1}, 100 %, \ and 🙂', 'secret 1: naïve “quotes”, ''apostrophes'', a	tab, {json: 1}, 100 %, \ and 🙂', 'kinds 1: naïve “quotes”, ''apostrophes'', a	tab, {json: 1}, 100 %, \ and 🙂', 1700000000.4333332, 1700000000.4333332);
INSERT INTO public.webhooks VALUES ('id2', 'id2', 'url 2: naïve “quotes”, ''apostrophes'', a	tab, {json: 1}, 100 %, \ and 🙂', 'secret 2: naïve “quotes”, ''apostrophes'', a	tab, {json: 1}, 100 %, \ and 🙂', 'kinds 2: naïve “quotes”, ''apostrophes'', a	tab, {json: 1}, 100 %, \ and 🙂', 1700000000.7666667, NULL);
SELECT pg_catalog.setval('public.events_id_seq', 3, true);
SELECT pg_catalog.setval('public.items_id_seq', 3, true);
ALTER TABLE ONLY public.accounts
    ADD CONSTRAINT pk_accounts PRIMARY KEY (id);
ALTER TABLE ONLY public.api_keys
    ADD CONSTRAINT pk_api_keys PRIMARY KEY (id);
ALTER TABLE ONLY public.attempts
    ADD CONSTRAINT pk_attempts PRIMARY KEY (key);
ALTER TABLE ONLY public.ballots
    ADD CONSTRAINT pk_ballots PRIMARY KEY (item_id, voter);
ALTER TABLE ONLY public.deliveries
    ADD CONSTRAINT pk_deliveries PRIMARY KEY (id);
ALTER TABLE ONLY public.events
    ADD CONSTRAINT pk_events PRIMARY KEY (id);
ALTER TABLE ONLY public.invitations
    ADD CONSTRAINT pk_invitations PRIMARY KEY (id);
ALTER TABLE ONLY public.items
    ADD CONSTRAINT pk_items PRIMARY KEY (id);
ALTER TABLE ONLY public.leases
    ADD CONSTRAINT pk_leases PRIMARY KEY (item_id, voter);
ALTER TABLE ONLY public.links
    ADD CONSTRAINT pk_links PRIMARY KEY (digest);
ALTER TABLE ONLY public.memberships
    ADD CONSTRAINT pk_memberships PRIMARY KEY (project_id, account_id);
ALTER TABLE ONLY public.projects
    ADD CONSTRAINT pk_projects PRIMARY KEY (id);
ALTER TABLE ONLY public.requests
    ADD CONSTRAINT pk_requests PRIMARY KEY (principal, key);
ALTER TABLE ONLY public.secrets
    ADD CONSTRAINT pk_secrets PRIMARY KEY (name);
ALTER TABLE ONLY public.sign_ins
    ADD CONSTRAINT pk_sign_ins PRIMARY KEY (digest);
ALTER TABLE ONLY public.stewards
    ADD CONSTRAINT pk_stewards PRIMARY KEY (project_id, task);
ALTER TABLE ONLY public.uploads
    ADD CONSTRAINT pk_uploads PRIMARY KEY (id);
ALTER TABLE ONLY public.webhooks
    ADD CONSTRAINT pk_webhooks PRIMARY KEY (id);
ALTER TABLE ONLY public.quorate_revision
    ADD CONSTRAINT quorate_revision_pkc PRIMARY KEY (version_num);
ALTER TABLE ONLY public.api_keys
    ADD CONSTRAINT uq_api_keys_digest UNIQUE (digest);
ALTER TABLE ONLY public.events
    ADD CONSTRAINT uq_events_item_id_seq UNIQUE (item_id, seq);
ALTER TABLE ONLY public.invitations
    ADD CONSTRAINT uq_invitations_digest UNIQUE (digest);
ALTER TABLE ONLY public.items
    ADD CONSTRAINT uq_items_project_id_name UNIQUE (project_id, name);
ALTER TABLE ONLY public.items
    ADD CONSTRAINT uq_items_project_id_number UNIQUE (project_id, number);
ALTER TABLE ONLY public.uploads
    ADD CONSTRAINT uq_uploads_project_id_digest UNIQUE (project_id, digest);
CREATE INDEX ix_ballots_voter ON public.ballots USING btree (project_id, voter, "time" DESC);
CREATE INDEX ix_deliveries_due ON public.deliveries USING btree (due) WHERE ((delivered IS NULL) AND (failed IS NULL));
CREATE INDEX ix_events_project ON public.events USING btree (project_id, id);
CREATE INDEX ix_items_busy ON public.items USING btree (project_id, priority DESC, number) WHERE (is_wanted AND (slots <= 0));
CREATE INDEX ix_items_closed ON public.items USING btree (project_id, closed_event);
CREATE INDEX ix_items_fresh ON public.items USING btree (project_id, priority DESC, number) WHERE (is_wanted AND (slots > 0) AND (num_ballots = 0));
CREATE INDEX ix_items_queue ON public.items USING btree (project_id, priority DESC, to_close, number) WHERE (is_wanted AND (slots > 0));
CREATE INDEX ix_items_state ON public.items USING btree (project_id, is_open, number);
CREATE INDEX ix_items_unaccounted ON public.items USING btree (project_id, closed_event) WHERE ((NOT is_open) AND (NOT is_accounted));
CREATE INDEX ix_items_window ON public.items USING btree (project_id, first_vote_event DESC);
CREATE INDEX ix_leases_expires ON public.leases USING btree (project_id, expires) WHERE is_out;
CREATE INDEX ix_leases_voter ON public.leases USING btree (project_id, voter);
CREATE INDEX ix_memberships_account ON public.memberships USING btree (account_id);
CREATE UNIQUE INDEX uq_events_request ON public.events USING btree (project_id, voter, request) WHERE (request IS NOT NULL);
CREATE TRIGGER events_only_appended BEFORE DELETE OR UPDATE OR TRUNCATE ON public.events FOR EACH STATEMENT EXECUTE FUNCTION public.events_only_appended();
ALTER TABLE ONLY public.api_keys
    ADD CONSTRAINT fk_api_keys_account_id FOREIGN KEY (account_id) REFERENCES public.accounts(id);
ALTER TABLE ONLY public.api_keys
    ADD CONSTRAINT fk_api_keys_project_id FOREIGN KEY (project_id) REFERENCES public.projects(id);
ALTER TABLE ONLY public.ballots
    ADD CONSTRAINT fk_ballots_item_id FOREIGN KEY (item_id) REFERENCES public.items(id);
ALTER TABLE ONLY public.deliveries
    ADD CONSTRAINT fk_deliveries_webhook_id FOREIGN KEY (webhook_id) REFERENCES public.webhooks(id);
ALTER TABLE ONLY public.events
    ADD CONSTRAINT fk_events_item_id FOREIGN KEY (item_id) REFERENCES public.items(id);
ALTER TABLE ONLY public.events
    ADD CONSTRAINT fk_events_project_id FOREIGN KEY (project_id) REFERENCES public.projects(id);
ALTER TABLE ONLY public.invitations
    ADD CONSTRAINT fk_invitations_project_id FOREIGN KEY (project_id) REFERENCES public.projects(id);
ALTER TABLE ONLY public.items
    ADD CONSTRAINT fk_items_project_id FOREIGN KEY (project_id) REFERENCES public.projects(id);
ALTER TABLE ONLY public.leases
    ADD CONSTRAINT fk_leases_item_id FOREIGN KEY (item_id) REFERENCES public.items(id);
ALTER TABLE ONLY public.links
    ADD CONSTRAINT fk_links_account_id FOREIGN KEY (account_id) REFERENCES public.accounts(id);
ALTER TABLE ONLY public.links
    ADD CONSTRAINT fk_links_project_id FOREIGN KEY (project_id) REFERENCES public.projects(id);
ALTER TABLE ONLY public.memberships
    ADD CONSTRAINT fk_memberships_account_id FOREIGN KEY (account_id) REFERENCES public.accounts(id);
ALTER TABLE ONLY public.memberships
    ADD CONSTRAINT fk_memberships_project_id FOREIGN KEY (project_id) REFERENCES public.projects(id);
ALTER TABLE ONLY public.sign_ins
    ADD CONSTRAINT fk_sign_ins_account_id FOREIGN KEY (account_id) REFERENCES public.accounts(id);
ALTER TABLE ONLY public.sign_ins
    ADD CONSTRAINT fk_sign_ins_project_id FOREIGN KEY (project_id) REFERENCES public.projects(id);
ALTER TABLE ONLY public.stewards
    ADD CONSTRAINT fk_stewards_project_id FOREIGN KEY (project_id) REFERENCES public.projects(id);
ALTER TABLE ONLY public.uploads
    ADD CONSTRAINT fk_uploads_project_id FOREIGN KEY (project_id) REFERENCES public.projects(id);
ALTER TABLE ONLY public.webhooks
    ADD CONSTRAINT fk_webhooks_project_id FOREIGN KEY (project_id) REFERENCES public.projects(id);
