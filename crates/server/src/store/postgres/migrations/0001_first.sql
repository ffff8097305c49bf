-- Slots, numbers, times, periods and epochs are unsigned 63-bit numbers; hashes of 64 bits are the same bits as a signed number.

create table store (
    single boolean primary key default true check (single),
    id bytea not null check (length(id) = 16),
    -- Where everything was moved to. From then on nothing is taken here.
    retired text,
    -- Whether what was moved was checked, and lives there.
    moved boolean not null default false
);

create table lives (
    id int4 primary key,
    name text not null,
    generation int8 not null,
    params bytea not null,
    event bytea not null,
    began int8 not null,
    ended int8
);
create unique index lives_present on lives (name) where ended is null;

create table heads (
    life int4 primary key references lives (id),
    number int8 not null,
    chain bytea not null,
    epoch int8 not null,
    -- Until when the holder of the epoch has the right to release, by the clock of the database. It decides who tries; the epoch decides who may.
    leased int8 not null default 0,
    closed int8 not null,
    folded int8 not null,
    state bytea not null
);

create sequence event_numbers as int8;

create table remembered (
    life int4 not null,
    event bytea not null,
    slot int8 not null,
    number int8 not null,
    request bytea not null,
    answer bytea not null,
    primary key (life, event)
);
create index remembered_by_place on remembered (life, slot, number);

create table events (
    life int4 not null,
    slot int8 not null,
    number int8 not null,
    event bytea not null,
    person bytea,
    time int8 not null,
    learnt boolean not null,
    active boolean not null,
    reward int8,
    -- 64-bit numbers, little-endian.
    reward_keys bytea not null,
    -- 64-bit floating-point numbers, little-endian.
    features bytea not null,
    raw bytea not null,
    primary key (life, slot, number)
) with (fillfactor = 70);
create index events_of_person on events (person) where person is not null;

create table ledger (
    life int4 not null,
    period int8 not null,
    person bytea not null,
    visits int8 not null,
    -- Of the last charge: how many visits there were room for, and how many it was granted.
    most int8 not null,
    granted int8 not null,
    primary key (life, period, person)
) with (fillfactor = 70);

create table releases (
    life int4 not null,
    number int8 not null,
    time int8 not null,
    hash bytea not null,
    chain bytea not null,
    -- Empty when only the hash is kept.
    release bytea not null,
    primary key (life, number)
);
create index releases_whole on releases (life, number) where release <> ''::bytea;

create table keys (
    id text primary key,
    hash bytea not null,
    loop_name text,
    roles text[] not null,
    made int8 not null,
    revoked int8
);

create table settings (
    name text primary key,
    value bytea not null
);

create table erased (
    person bytea primary key,
    time int8 not null
);
