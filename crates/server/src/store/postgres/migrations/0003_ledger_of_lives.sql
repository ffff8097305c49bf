-- The life that began the ledger in which persons are counted, where it is an earlier generation of the loop.
alter table lives add column ledger int4;
