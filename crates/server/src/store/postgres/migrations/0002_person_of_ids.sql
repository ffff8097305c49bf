-- Who asked, so that an erasure finds what is remembered of a request whose event's own row is gone.
-- There is no index: erasures are few, and every rank request would write one.
alter table remembered add column person bytea;
