//! Everything out of a file, and everything into a new one.

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
};

use ::redb::{ReadTransaction, ReadableTable};
use tokio::sync::mpsc;

use super::{
    RedbStore, file, reads,
    tables::{
        CountRow, ERASED, EVENTS, ErasedRow, GENERATIONS, HeadRow, IdentityRow, JOURNAL,
        JournalRow, KEYS, LEDGER, OpenRow, RELEASES, REMEMBERED, Remembered, SETTINGS, SettingRow,
        StateRow, Tables, place_key, put,
    },
    writer::Attempt,
};
use crate::{
    Error, Result,
    store::{
        GenerationId, Head, LAST_SLOT, Pending, PersonHash, Place, Store, StoreId, StoredEvent,
        disk::{make_folder, rename},
        portable::{Entry, MOVED, Portable, RETIRED, TOGETHER, UNCHECKED, cut_short},
        row,
    },
};

impl Portable for RedbStore {
    fn export(&self, to: mpsc::Sender<Vec<Entry>>) -> Pending<()> {
        self.read(move |transaction| {
            let mut sender = Sender { to, entries: Vec::new() };
            export(transaction, &mut sender)?;
            sender.send(Entry::End);
            sender.flush();
            Ok(())
        })
    }

    fn retire(&self, place: String) -> Pending<String> {
        let kept = self.keep_setting(RETIRED.into(), place.into_bytes());
        let ended = self.queue.submit(|group| move_epochs(&mut group.tables));
        Box::pin(async move {
            let kept = kept.await?;
            ended.await?;
            Ok(String::from_utf8_lossy(&kept).into_owned())
        })
    }

    fn finish(&self) -> Pending<()> {
        let kept = self.keep_setting(MOVED.into(), Vec::new());
        Box::pin(async move { kept.await.map(drop) })
    }

    fn is_moved(&self) -> Pending<bool> {
        self.read(|transaction| Ok(reads::setting(transaction, MOVED)?.is_some()))
    }

    fn begin(&self) -> Pending<()> {
        self.queue.submit(|group| {
            group.tables.settings.remove(RETIRED)?;
            move_epochs(&mut group.tables)
        })
    }

    fn retired_to(&self) -> Pending<Option<String>> {
        self.read(|transaction| {
            let place = reads::setting(transaction, RETIRED)?;
            Ok(place.map(|place| String::from_utf8_lossy(&place).into_owned()))
        })
    }
}

/// Moves the right to release in every generation to an epoch that no process has.
fn move_epochs(tables: &mut Tables<'_>) -> Attempt<()> {
    let generations: Vec<GenerationId> =
        tables.generations.iter()?.map(|row| Ok(row?.0.value())).collect::<Attempt<_>>()?;
    for generation in generations {
        let head = tables.head(generation)?;
        let epoch = head.epoch.saturating_add(1);
        tables.heads.put(generation, HeadRow { epoch, ..head });
    }
    Ok(())
}

/// Entries on their way. Who does not listen any more needs no more of them.
struct Sender {
    to: mpsc::Sender<Vec<Entry>>,
    entries: Vec<Entry>,
}

impl Sender {
    fn send(&mut self, entry: Entry) {
        self.entries.push(entry);
        if self.entries.len() >= TOGETHER {
            self.flush();
        }
    }

    fn flush(&mut self) {
        let _ = self.to.blocking_send(std::mem::take(&mut self.entries));
    }
}

fn export(transaction: &ReadTransaction, sender: &mut Sender) -> Attempt<()> {
    let generations: Vec<crate::store::Generation> = reads::all(transaction, GENERATIONS)?;
    let ids: Vec<GenerationId> = generations.iter().map(|generation| generation.id).collect();
    generations.into_iter().for_each(|generation| sender.send(Entry::Generation(generation)));
    for generation in ids {
        let head = reads::whole_head(transaction, generation)?;
        // Loops of devices that have ended are closed beyond it in files of earlier versions.
        let (closed, folded) = (head.closed.min(LAST_SLOT), head.folded.min(LAST_SLOT));
        sender.send(Entry::Head(generation, Head { closed, folded, ..head }));
    }
    for row in transaction.open_table(RELEASES)?.iter()? {
        let (key, row) = row?;
        sender.send(Entry::Release(key.value().0, row::decode(row.value())?));
    }
    export_ledger(transaction, sender)?;
    for row in transaction.open_table(REMEMBERED)?.iter()? {
        let (key, row) = row?;
        let ((generation, slot, number), known) =
            (key.value(), row::decode::<Remembered>(row.value())?);
        sender.send(Entry::Remembered(
            generation,
            Place { slot, number },
            known.event,
            known.person,
            known.request,
            known.answer,
        ));
    }
    for row in transaction.open_table(EVENTS)?.iter()? {
        let (key, row) = row?;
        let (generation, slot, number) = key.value();
        let event = row::decode(row.value()).unwrap_or_else(|_| StoredEvent::unreadable());
        sender.send(Entry::Event(generation, Place { slot, number }, event));
    }
    for key in reads::all(transaction, KEYS)? {
        sender.send(Entry::Key(key));
    }
    for row in transaction.open_table(SETTINGS)?.iter()? {
        let (key, row) = row?;
        if ![RETIRED, MOVED].contains(&key.value()) {
            let SettingRow(value) = row::decode(row.value())?;
            sender.send(Entry::Setting(key.value().to_string(), value));
        }
    }
    for row in transaction.open_table(ERASED)?.iter()? {
        let (key, row) = row?;
        let ErasedRow(time) = row::decode(row.value())?;
        sender.send(Entry::Erased(*key.value(), time));
    }
    Ok(())
}

/// The ledger: the journal is newer than the table.
fn export_ledger(transaction: &ReadTransaction, sender: &mut Sender) -> Attempt<()> {
    let mut newest = BTreeMap::<(GenerationId, u64, PersonHash), u32>::new();
    for row in transaction.open_table(JOURNAL)?.iter()? {
        let JournalRow(entries) = row::decode(row?.1.value())?;
        newest.extend(entries.into_iter().filter_map(|entry| entry.charge));
    }
    let mut send = |(generation, period, person), count| {
        sender.send(Entry::Visits(generation, period, person, count))
    };
    for row in transaction.open_table(LEDGER)?.iter()? {
        let (key, row) = row?;
        let (generation, period, person) = key.value();
        let key = (generation, period, *person);
        let after = newest.split_off(&key);
        std::mem::replace(&mut newest, after).into_iter().for_each(|(key, count)| send(key, count));
        let count = match newest.remove(&key) {
            Some(count) => count,
            None => row::decode::<CountRow>(row.value())?.0,
        };
        send(key, count);
    }
    newest.into_iter().for_each(|(key, count)| send(key, count));
    Ok(())
}

impl RedbStore {
    /// Writes a new file, which has its name only when it is whole.
    pub(in crate::store) async fn import(
        path: PathBuf,
        id: StoreId,
        entries: mpsc::Receiver<Vec<Entry>>,
    ) -> Result<()> {
        let write = move || {
            make_folder(&path)?;
            let unfinished = PathBuf::from(format!("{}.unfinished", path.display()));
            // One that an earlier attempt has left.
            let _ = std::fs::remove_file(&unfinished);
            import(&unfinished, id, entries)?;
            rename(&unfinished, &path)
        };
        tokio::task::spawn_blocking(write).await.map_err(Error::store)?
    }
}

fn import(path: &Path, id: StoreId, mut entries: mpsc::Receiver<Vec<Entry>>) -> Result<()> {
    let database = file::open(path)?;
    let transaction = database.begin_write().map_err(Error::store)?;
    let mut writing =
        Writing { tables: Tables::open(&transaction)?, ended: BTreeMap::new(), is_whole: false };
    put(&mut writing.tables.identity, (), &IdentityRow(id))?;
    while let Some(some) = entries.blocking_recv() {
        for entry in some {
            writing.write(entry)?;
        }
    }
    if !writing.is_whole {
        return Err(cut_short());
    }
    put(&mut writing.tables.settings, RETIRED, &SettingRow(UNCHECKED.into()))?;
    writing.tables.flush()?;
    drop(writing);
    transaction.commit().map_err(Error::store)
}

struct Writing<'t> {
    tables: Tables<'t>,
    ended: BTreeMap<GenerationId, bool>,
    is_whole: bool,
}

impl Writing<'_> {
    fn write(&mut self, entry: Entry) -> Attempt<()> {
        let tables = &mut self.tables;
        match entry {
            Entry::Generation(generation) => {
                self.ended.insert(generation.id, generation.ended.is_some());
                put(&mut tables.generations, generation.id, &generation)
            }
            Entry::Head(generation, head) => {
                let row = HeadRow {
                    number: head.number,
                    chain: head.chain,
                    epoch: head.epoch,
                    closed: head.closed,
                    folded: head.folded,
                    events: 0,
                    stripped: 0,
                    ended: self.ended.get(&generation).copied().unwrap_or(false),
                };
                tables.heads.put(generation, row);
                put(&mut tables.states, generation, &StateRow(head.state))
            }
            Entry::Release(generation, release) => {
                if release.release.is_empty() {
                    let head = tables.head(generation)?;
                    let stripped = head.stripped.max(release.number);
                    tables.heads.put(generation, HeadRow { stripped, ..head });
                }
                put(&mut tables.releases, (generation, release.number), &release)
            }
            Entry::Visits(generation, period, person, count) => {
                put(&mut tables.ledger, (generation, period, &person), &CountRow(count))
            }
            Entry::Remembered(generation, place, event, person, request, answer) => {
                let closed = note_number(tables, generation, place)?;
                if place.slot > closed {
                    let key = (generation, place.slot);
                    let OpenRow(count) = tables.open.get(key)?.unwrap_or(OpenRow(0));
                    tables.open.put(key, OpenRow(count.saturating_add(1)));
                }
                put(&mut tables.ids, (generation, &event), &place)?;
                let known = Remembered { event, person, request, answer };
                put(&mut tables.remembered, place_key(generation, place), &known)
            }
            Entry::Event(generation, place, event) => {
                note_number(tables, generation, place)?;
                put(&mut tables.events, place_key(generation, place), &event)
            }
            Entry::Key(key) => put(&mut tables.keys, key.id.as_str(), &key),
            Entry::Setting(name, value) => {
                put(&mut tables.settings, name.as_str(), &SettingRow(value))
            }
            Entry::Erased(person, time) => put(&mut tables.erased, &person, &ErasedRow(time)),
            Entry::End => {
                self.is_whole = true;
                Ok(())
            }
        }
    }
}

/// Lets the next event of a generation have a later number, and returns its last closed slot.
fn note_number(tables: &mut Tables<'_>, generation: GenerationId, place: Place) -> Attempt<u64> {
    let head = tables.head(generation)?;
    let (closed, events) = (head.closed, head.events.max(place.number));
    tables.heads.put(generation, HeadRow { events, ..head });
    Ok(closed)
}
