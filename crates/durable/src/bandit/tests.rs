use std::{fs, path::Path};

use reticent::{bandit::RewardWindow, randomize::Bounds, release::Schedule};

use super::*;
use crate::{ReleaseLog, Rollback, journal::tests::Folder};

fn params() -> JointParams {
    JointParams {
        schedule: Schedule::EveryRound,
        ..JointParams::new(Bounds::unit(2), 1.0, 1e-6, Some(1000))
    }
}

fn arms() -> Arms {
    Arms::from_rows(2, &[[1.0, 0.0], [0.0, 1.0]]).unwrap()
}

fn open(folder: &Path) -> Result<DurableBandit> {
    DurableBandit::open(folder, &params(), &Options::default())
}

fn step(bandit: &mut DurableBandit) {
    let ticket = bandit.decide(&arms()).unwrap().ticket;
    assert!(bandit.observe(ticket, 0.5).unwrap().released);
}

fn logged(folder: &Path) -> crate::Record {
    ReleaseLog::open(&folder.join("releases.log"), || unreachable!()).unwrap().last()
}

#[test]
fn a_crash_at_any_moment_repeats_no_release_and_is_not_charged() {
    let folder = Folder::new("crash");
    let state = folder.0.join("state.reticent");
    let mut policy = None;
    for life in 0..5 {
        let mut bandit = open(&folder.0).unwrap();
        assert_eq!(bandit.learner().releases(), 3 * life);
        assert_eq!(bandit.learner().replays(), 0);
        if let Some(policy) = policy {
            assert_eq!(bandit.learner().policy().theta(), policy);
        }
        (0..3).for_each(|_| step(&mut bandit));
        bandit.decide(&arms()).unwrap();
        policy = Some(bandit.learner().policy().theta().to_vec());
        drop(bandit); // no close
        assert_eq!(logged(&folder.0).releases, 3 * (life + 1));
    }
    // Killed between state and log: the last line is missing, the state is ahead, and the release is noted before it is used.
    let log = folder.0.join("releases.log");
    let text = fs::read_to_string(&log).unwrap();
    let shorter: String =
        text.lines().take(text.lines().count() - 1).map(|l| format!("{l}\n")).collect();
    fs::write(&log, shorter).unwrap();
    let bandit = open(&folder.0).unwrap();
    assert_eq!((bandit.learner().releases(), bandit.learner().replays()), (15, 0));
    drop(bandit);
    assert_eq!(logged(&folder.0).releases, 15);
    assert!(state.exists());
}

#[test]
fn an_older_copy_of_the_state_is_refused_or_charged_each_time() {
    let folder = Folder::new("rollback");
    let (state, old) = (folder.0.join("state.reticent"), folder.0.join("old"));
    let mut bandit = open(&folder.0).unwrap();
    step(&mut bandit);
    fs::copy(&state, &old).unwrap();
    step(&mut bandit);
    let alone = bandit.guarantee().unwrap().epsilon();
    drop(bandit);
    let charge = Options { rollback: Rollback::Charge, ..Options::default() };
    for replays in 1..=3 {
        fs::copy(&old, &state).unwrap();
        let refused = open(&folder.0).err().unwrap().to_string();
        assert!(refused.contains("saved state: got 1 releases"), "{refused}");
        let mut bandit = DurableBandit::open(&folder.0, &params(), &charge).unwrap();
        assert_eq!(bandit.learner().replays(), replays);
        assert!(bandit.guarantee().unwrap().epsilon() > alone);
        step(&mut bandit);
        drop(bandit);
        // Its newest state can be resumed without another charge.
        let again = DurableBandit::open(&folder.0, &params(), &charge).unwrap();
        assert_eq!(again.learner().replays(), replays);
        drop(again);
        assert_eq!(logged(&folder.0).releases, 2 + replays);
    }
}

#[test]
fn a_disk_that_fails_is_reported_and_no_release_is_used_meanwhile() {
    let folder = Folder::new("disk");
    let mut bandit = open(&folder.0).unwrap();
    step(&mut bandit);
    let before = bandit.learner().policy().clone();
    let obstacle = folder.0.join("state.new");
    fs::create_dir(&obstacle).unwrap();
    let ticket = bandit.decide(&arms()).unwrap().ticket;
    assert!(bandit.observe(ticket, 0.5).unwrap().released);
    assert_eq!(*bandit.learner().policy(), before);
    for _ in 0..3 {
        let decisions = bandit.learner().decisions();
        let error = bandit.decide(&arms()).unwrap_err().to_string();
        assert!(error.contains("cannot be written"), "{error}");
        assert_eq!(bandit.learner().decisions(), decisions);
        assert_eq!(*bandit.learner().policy(), before);
    }
    fs::remove_dir(&obstacle).unwrap();
    bandit.decide(&arms()).unwrap();
    assert_ne!(*bandit.learner().policy(), before);
    drop(bandit);
    assert_eq!(open(&folder.0).unwrap().learner().releases(), 2);
}

#[test]
fn a_tick_is_on_disk_before_it_is_used() {
    let folder = Folder::new("tick");
    let ticking = JointParams { schedule: Schedule::Clock, ..params() };
    let open = || DurableBandit::open(&folder.0, &ticking, &Options::default()).unwrap();
    let mut bandit = open();
    let ticket = bandit.decide(&arms()).unwrap().ticket;
    assert!(!bandit.observe(ticket, 1.0).unwrap().released);
    bandit.tick().unwrap();
    let policy = bandit.learner().policy().clone();
    drop(bandit);
    let bandit = open();
    assert_eq!((bandit.learner().releases(), bandit.learner().policy()), (1, &policy));
}

#[test]
fn close_keeps_open_decisions_and_after_a_crash_their_tickets_are_unknown() {
    let folder = Folder::new("open");
    let windowed = JointParams { window: Some(RewardWindow::Clock), ..params() };
    let open = || DurableBandit::open(&folder.0, &windowed, &Options::default()).unwrap();
    let mut bandit = open();
    let kept = bandit.decide_at(&arms(), 5).unwrap().ticket;
    bandit.close().unwrap();
    let mut bandit = open();
    assert!(!bandit.observe(kept, 1.0).unwrap().late);
    let lost = bandit.decide_at(&arms(), 6).unwrap().ticket;
    assert_eq!(bandit.close_before(6).unwrap(), Closed { decisions: 1, releases: 1 });
    assert!(bandit.observe(kept, 1.0).is_err(), "a closed decision of an earlier process");
    drop(bandit);
    let mut bandit = open();
    let other = bandit.decide_at(&arms(), 7).unwrap().ticket;
    assert!(bandit.observe(lost, 1.0).is_err());
    assert!(bandit.observe(other, 1.0).is_ok());
    assert_eq!(bandit.close_before(100).unwrap().decisions, 1);
}

#[test]
fn a_folder_is_locked_although_its_log_is_elsewhere_and_was_copied() {
    let (folder, logs) = (Folder::new("locked"), Folder::new("logs"));
    let (log, copy) = (logs.0.join("log"), logs.0.join("copy"));
    let with = |log: &Path| {
        let options = Options { log: Some(log.to_path_buf()), ..Options::default() };
        DurableBandit::open(&folder.0, &params(), &options)
    };
    let mut bandit = with(&log).unwrap();
    step(&mut bandit);
    fs::copy(&log, &copy).unwrap();
    // The copied log belongs to the same stream and is not open: only the lock of the folder prevents a second process.
    let refused = with(&copy).err().expect("two learners continue from the same state").to_string();
    assert!(refused.contains("folder: got") && refused.contains("another process"), "{refused}");
    step(&mut bandit);
    drop(bandit);
    drop(with(&log).unwrap());
    // A kill releases the lock; the copied log is now behind the state, which is allowed.
    assert_eq!(with(&copy).unwrap().learner().releases(), 2);
}

#[test]
fn one_process_at_a_time_with_the_right_parameters_and_files() {
    let folder = Folder::new("refuse");
    let bandit = open(&folder.0).unwrap();
    assert!(open(&folder.0).err().unwrap().to_string().contains("another process"));
    drop(bandit);
    let other = JointParams { epsilon: 2.0, ..params() };
    let refused = DurableBandit::open(&folder.0, &other, &Options::default());
    assert!(refused.err().unwrap().to_string().contains("other parameters"));
    let second = Folder::new("second");
    drop(open(&second.0).unwrap());
    fs::copy(second.0.join("state.reticent"), folder.0.join("state.reticent")).unwrap();
    assert!(open(&folder.0).err().unwrap().to_string().contains("another learner"));
    fs::remove_file(second.0.join("releases.log")).unwrap();
    assert!(open(&second.0).err().unwrap().to_string().contains("Restore the log"));
    let third = Folder::new("third");
    let mut bandit = open(&third.0).unwrap();
    step(&mut bandit);
    drop(bandit);
    fs::remove_file(third.0.join("state.reticent")).unwrap();
    assert!(open(&third.0).err().unwrap().to_string().contains("the state is gone"));
}

/// Every later version opens the folder that this one wrote. `RETICENT_WRITE_VECTORS=1` writes it again, with other noise in it.
#[test]
fn the_golden_folder_is_opened_and_stored_again() {
    let golden = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../vectors/wire");
    let names = [("state.reticent", "durable_state.1.bin"), ("releases.log", "durable_log.1.txt")];
    let params = JointParams { window: Some(RewardWindow::Decisions(2)), ..params() };
    let open = |folder: &Path| DurableBandit::open(folder, &params, &Options::default());
    if std::env::var_os("RETICENT_WRITE_VECTORS").is_some() {
        let folder = Folder::new("golden-written");
        let mut bandit = open(&folder.0).unwrap();
        for _ in 0..4 {
            let ticket = bandit.decide(&arms()).unwrap().ticket;
            bandit.observe(ticket, 0.5).unwrap();
        }
        bandit.close().unwrap();
        for (from, to) in names {
            fs::copy(folder.0.join(from), golden.join(to)).unwrap();
        }
    }
    let folder = Folder::new("golden");
    for (to, from) in names {
        fs::copy(golden.join(from), folder.0.join(to)).unwrap();
    }
    let bandit = open(&folder.0).unwrap();
    assert_eq!((bandit.learner().releases(), bandit.learner().open_decisions()), (2, 2));
    bandit.close().unwrap();
    let kept = |(name, golden_name): (&str, &str)| {
        (fs::read(folder.0.join(name)).unwrap(), fs::read(golden.join(golden_name)).unwrap())
    };
    let [(state, golden_state), (log, golden_log)] = names.map(kept);
    assert_eq!(state, golden_state);
    let last = log.strip_prefix(&golden_log[..]).unwrap();
    assert!(golden_log.ends_with(last), "the same counts again");
    // A version to come is refused by name, and so is one of which nothing is known.
    drop(open(&folder.0).unwrap());
    let path = folder.0.join("state.reticent");
    fs::write(&path, [b"RETDUR 2", &state[8..]].concat()).unwrap();
    let error = open(&folder.0).map(drop).unwrap_err().to_string();
    assert!(error.contains("RETDUR 2") && error.contains("release of reticent"), "{error}");
    fs::write(&path, &state).unwrap();
    let text = String::from_utf8(log).unwrap().replacen("log 1 ", "log 2 ", 1);
    fs::write(folder.0.join("releases.log"), text).unwrap();
    let error = open(&folder.0).map(drop).unwrap_err().to_string();
    assert!(error.contains("log 2") && error.contains("release of reticent"), "{error}");
}
