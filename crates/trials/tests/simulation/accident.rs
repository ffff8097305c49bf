//! Accidents of processes, database and clocks while clients send requests.

use std::{cell::RefCell, collections::BTreeMap, sync::Arc};

use super::{
    link::{Fate, STEPS},
    process::Setup,
};

/// Number of times that each thing has happened.
pub type Counts = BTreeMap<&'static str, u64>;

/// Lets accidents happen until it is dropped.
pub async fn accidents(setup: &Arc<Setup>, counts: &RefCell<Counts>) {
    let (timeline, database) = (&setup.timeline, &setup.database);
    loop {
        let pause = 50_000 + timeline.below(1_500_000);
        timeline.sleep(pause).await;
        let which = timeline.below(setup.slots.len() as u64) as usize;
        let link = setup.link(which);
        let links = || (0..setup.slots.len()).filter_map(|each| setup.link(each));
        let what = match timeline.below(20) {
            0..6 => {
                link.inspect(|link| link.kill());
                "kills -9 of a process"
            }
            6 => {
                links().for_each(|link| link.kill());
                "kills -9 of all processes"
            }
            7..9 => {
                // Often longer than a lease lasts.
                link.inspect(|link| link.stop_for(timeline.below(6_000_000)));
                "processes stopped and continued"
            }
            9..13 => {
                let fate = Fate {
                    at: STEPS[timeline.below(STEPS.len() as u64) as usize],
                    after: timeline.one_in(2),
                    stops_for: timeline.one_in(2).then(|| 2_000_000 + timeline.below(4_000_000)),
                };
                // Any process may come to it: only one of them releases.
                links().for_each(|link| link.await_fate(fate));
                "kills and stops at a named transaction"
            }
            13..15 => {
                database.crash();
                timeline.sleep(timeline.below(2_000_000)).await;
                database.restart();
                "crashes of the database"
            }
            15..17 => {
                database.lose_one_in(2 + timeline.below(20));
                timeline.sleep(timeline.below(3_000_000)).await;
                database.lose_one_in(u64::MAX);
                "times of lost transactions and answers"
            }
            17..19 => {
                database.slow_down(1 + timeline.below(5_000_000));
                timeline.sleep(timeline.below(2_000_000)).await;
                database.slow_down(2_000);
                "times of slow transactions"
            }
            _ => {
                let days = 3 * 86_400_000;
                let offset = [20_000, -20_000, days, -days][timeline.below(4) as usize];
                timeline.set_clocks(offset);
                timeline.sleep(timeline.below(5_000_000)).await;
                timeline.set_clocks(0);
                "clocks moved and set right"
            }
        };
        timeline.note(what, which as u64, 0);
        *counts.borrow_mut().entry(what).or_default() += 1;
    }
}

/// Everything works from now on.
pub fn repair(setup: &Setup) {
    setup.database.repair();
    setup.timeline.set_clocks(0);
    (0..setup.slots.len()).filter_map(|each| setup.link(each)).for_each(|link| link.go_on());
}
