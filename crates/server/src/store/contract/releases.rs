//! Checks of the list of releases.

use super::{
    checks::{Checked, begin, ensure},
    sample::{self, step},
};
use crate::store::{Collect, Committed, ReleaseRecord, Step, Store};

pub(super) async fn a_number_has_one_release(store: &dyn Store) -> Checked {
    let generation = begin(store).await?;
    ensure!(store.release(step(generation, 0, 1)).await? == Committed::Yes, "the first");
    let head = store.head(generation).await?;
    ensure!(
        head.number == 1 && head.state == [1, 4] && head.chain == [254; 32],
        "the head is the step"
    );
    let mut other = step(generation, 0, 1);
    other.release.hash = [77; 32];
    for wrong in [other, step(generation, 0, 3), step(generation, 0, 0)] {
        ensure!(store.release(wrong).await? == Committed::No(head.clone()), "only the next number");
    }
    ensure!(store.take_epoch(generation).await? == 1, "the next epoch");
    ensure!(
        matches!(store.release(step(generation, 0, 2)).await?, Committed::No(head) if head.epoch == 1),
        "only the present epoch"
    );
    ensure!(store.release(step(generation, 1, 2)).await? == Committed::Yes, "the second");
    let numbers: Vec<u64> =
        store.releases(generation, 1, 9).await?.iter().map(|release| release.number).collect();
    ensure!(numbers == [1, 2], "{numbers:?}");
    ensure!(
        store.releases(generation, 1, 1).await?[0] == step(generation, 0, 1).release,
        "the first release is unchanged"
    );
    Ok(())
}

/// However large its releases are; hashes without a release take none of the bytes.
pub(super) async fn a_page_of_releases_has_a_limit_of_bytes(store: &dyn Store) -> Checked {
    let generation = begin(store).await?;
    for number in 1..=6 {
        let release = vec![7; 100 * number as usize];
        let step = step(generation, 0, number);
        let release = ReleaseRecord { release, ..step.release };
        store.release(Step { release, ..step }).await?;
    }
    let page = async |from, limit, bytes| -> crate::Result<Vec<u64>> {
        let found = store.release_page(generation, from, limit, bytes).await?;
        Ok(found.iter().map(|record| record.number).collect())
    };
    ensure!(page(1, 9, 600).await? == [1, 2, 3], "100 + 200 + 300 bytes");
    ensure!(page(1, 9, 599).await? == [1, 2], "the third one does not fit");
    ensure!(page(6, 9, 1).await? == [6], "a page has one at least");
    ensure!(page(1, 2, 9999).await? == [1, 2], "no more than were asked for");
    ensure!(page(7, 9, 9999).await?.is_empty(), "there are no more");
    store.collect(generation, Collect { first_release: 5, ..sample::everything() }).await?;
    ensure!(page(1, 9, 500).await? == [1, 2, 3, 4, 5], "hashes take none of the bytes");
    Ok(())
}
