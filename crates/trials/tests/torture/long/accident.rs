//! Accidents of the processes of a service under load.

use std::{process::Command, time::Duration};

use reticent_server::failpoint::STEPS;

use super::{
    super::{CLIENTS, Clients, Random, Server, database::PAST_THE_LEASE, disk::Disk},
    Table,
    place::{Kind, Place},
};

/// Accidents of one round.
const ACCIDENTS: u64 = 16;

/// Longest wait for a named step.
const REACHED: Duration = Duration::from_secs(6);

/// Milliseconds that a clock jumps by: some are believed, and some are not.
const JUMPS: [i64; 6] = [1_500, -1_500, 7_200_000, -7_200_000, 3 * 86_400_000, -3 * 86_400_000];

/// Name of kills with -9 in the table.
pub const KILLED: &str = "b killed at a random moment";
pub const KILLED_STARTING: &str = "b killed while it starts";
pub const DATABASE_KILLED: &str = "b database killed";

pub fn killed_at(step: &str) -> String {
    format!("c killed at \"{step}\"")
}

#[derive(Debug, Clone, Copy)]
enum Accident {
    Killed,
    KilledStarting,
    KilledAt(&'static str),
    Stopped,
    StoppedAt(&'static str),
    ClockJumps(i64),
    DiskFull,
    DatabaseDiskFull(Disk),
    DatabaseKilled,
    DatabaseRestarts,
    AnswersLost,
}

impl Accident {
    /// One that can happen to this store. Steps come one after the other, so that none is left out.
    fn any(
        kind: Kind,
        random: &mut Random,
        steps: &mut impl Iterator<Item = &'static str>,
    ) -> Self {
        let mut step = || steps.next().expect("they begin again");
        match (random.below(13), kind) {
            (0, _) => Accident::Killed,
            (1, _) => Accident::KilledStarting,
            (2..6, _) => Accident::KilledAt(step()),
            (6, _) => Accident::Stopped,
            (7, _) => Accident::StoppedAt(step()),
            (8, _) => Accident::ClockJumps(JUMPS[random.below(JUMPS.len() as u64) as usize]),
            (_, Kind::Embedded) => Accident::DiskFull,
            (9, _) => Accident::DatabaseKilled,
            (10, _) => Accident::DatabaseRestarts,
            (11, _) => Accident::AnswersLost,
            _ if random.below(2) == 0 => Accident::DatabaseDiskFull(Disk::Tables),
            _ => Accident::DatabaseDiskFull(Disk::LogOfWrites),
        }
    }

    /// Its name in the table.
    fn name(self) -> String {
        match self {
            Accident::Killed => KILLED.into(),
            Accident::KilledStarting => KILLED_STARTING.into(),
            Accident::KilledAt(step) => killed_at(step),
            Accident::Stopped => "d stopped for longer than a lease, and continued".into(),
            Accident::StoppedAt(_) => "d stopped at a named step, and continued".into(),
            Accident::ClockJumps(jump) if jump.abs() < 60_000 => "e clock jumps by seconds".into(),
            Accident::ClockJumps(_) => "e clock jumps by hours or days".into(),
            Accident::DiskFull => "f disk full".into(),
            Accident::DatabaseDiskFull(Disk::Tables) => {
                "f disk of the database's tables full".into()
            }
            Accident::DatabaseDiskFull(_) => "f disk of the database's log full".into(),
            Accident::DatabaseKilled => DATABASE_KILLED.into(),
            Accident::DatabaseRestarts => "g database restarted".into(),
            Accident::AnswersLost => "h connections cut after a commit".into(),
        }
    }
}

/// A round of accidents, and the check at its end.
pub fn accidents(kind: Kind, random: &mut Random, table: &mut Table) {
    let mut place = Place::new(kind);
    let seed = random.below(u64::MAX);
    let clients = Clients::start(&place.shared, 0..CLIENTS, seed).with_devices(&place.shared, seed);
    let begun = table.steps[kind as usize];
    let mut steps = STEPS.iter().copied().cycle().skip(begun % STEPS.len());
    for _ in 0..ACCIDENTS {
        std::thread::sleep(Duration::from_millis(200 + random.below(600)));
        let accident = Accident::any(kind, random, &mut steps);
        let named = matches!(accident, Accident::KilledAt(_) | Accident::StoppedAt(_));
        table.steps[kind as usize] += usize::from(named);
        println!("  {accident:?}");
        let count = happen(accident, &mut place, random);
        match count {
            0 if named => table.add(kind, "i a named step was not reached", 1),
            0 => table.add(kind, "i it could not happen", 1),
            count => table.add(kind, accident.name(), count),
        }
    }
    std::thread::sleep(Duration::from_millis(1000));
    let histories = clients.stop();
    place.settle();
    place.kill_all();
    table.found(kind, &place.examine(&histories));
}

/// Lets an accident happen, and says how often it did.
fn happen(accident: Accident, place: &mut Place, random: &mut Random) -> u64 {
    let which = random.below(place.replicas.len() as u64) as usize;
    let pause = |random: &mut Random| std::thread::sleep(Duration::from_millis(random.below(300)));
    match accident {
        Accident::Killed => {
            place.serve_without(which);
            place.replicas[which].server.kill();
            pause(random);
            place.restart(which);
        }
        Accident::KilledStarting => {
            place.serve_without(which);
            place.replicas[which].server.kill();
            let mut starting = Server::start(&place.replicas[which].start);
            pause(random);
            starting.kill();
            place.restart(which);
        }
        Accident::KilledAt(step) => {
            let reached = begin_with(place, which, step, "kill", random);
            let server = &mut place.replicas[which].server;
            let died = reached && server.ends_within(REACHED);
            server.kill();
            place.restart(which);
            begin_others(place, which, step);
            return u64::from(died);
        }
        Accident::Stopped => {
            let stopped = &place.replicas[which].server;
            stopped.signal("-STOP");
            std::thread::sleep(PAST_THE_LEASE);
            stopped.signal("-CONT");
        }
        Accident::StoppedAt(step) => {
            let started = begin_with(place, which, step, "stop", random);
            let stopped = &mut place.replicas[which].server;
            let reached = started && is_stopped_within(stopped, REACHED);
            if reached {
                std::thread::sleep(PAST_THE_LEASE);
            }
            stopped.signal("-CONT");
            if !started {
                stopped.kill();
                place.restart(which);
            }
            begin_others(place, which, step);
            return u64::from(reached);
        }
        Accident::ClockJumps(jump) => {
            std::fs::write(&place.clock, jump.to_string()).unwrap();
            // The time of a database is asked for every second.
            std::thread::sleep(Duration::from_millis(1500));
            // A process that begins under the wrong clock; one that is hours ahead is believed by it, and closes slots that come hours later.
            if random.below(2) == 0 && !(60_000..86_400_000).contains(&jump) {
                place.serve_without(which);
                place.replicas[which].server.kill();
                place.restart(which);
                std::thread::sleep(Duration::from_millis(300));
            }
            std::fs::write(&place.clock, "0").unwrap();
            std::thread::sleep(Duration::from_millis(1200));
        }
        Accident::DiskFull => {
            let size = std::fs::metadata(place.folder.join("data-0/store.redb")).unwrap().len();
            let id = place.replicas[which].server.id().to_string();
            let limit = |limit: &str| {
                let status = Command::new("prlimit")
                    .args(["--pid", &id, &format!("--fsize={limit}:")])
                    .status();
                assert!(status.unwrap().success());
            };
            limit(&size.to_string());
            std::thread::sleep(Duration::from_millis(300 + random.below(900)));
            limit("unlimited");
        }
        Accident::DatabaseDiskFull(disk) => {
            let cluster = place.database.as_ref().unwrap().0;
            let moment = Duration::from_millis(random.below(1500));
            return u64::from(cluster.has_small_disks() && disk.full_for_a_while(cluster, moment));
        }
        Accident::DatabaseKilled => place.database.as_ref().unwrap().0.kill(),
        Accident::DatabaseRestarts => place.database.as_ref().unwrap().0.restart(),
        Accident::AnswersLost => {
            let proxy = &place.database.as_ref().unwrap().2;
            let before = proxy.lost();
            proxy.lose(1 + random.below(20));
            std::thread::sleep(Duration::from_millis(700));
            proxy.lose(0);
            return proxy.lost() - before;
        }
    }
    1
}

/// Kills a process and starts it again with something to happen at a step. Says whether it came as far as to answer, or ended at that step before.
fn begin_with(
    place: &mut Place,
    which: usize,
    step: &str,
    action: &str,
    random: &mut Random,
) -> bool {
    place.serve_without(which);
    place.replicas[which].server.kill();
    for other in others(place, which, step) {
        place.replicas[other].server.kill();
    }
    let most = match step.split(':').next() {
        Some("store") => 200,
        Some("rank" | "reward" | "report") => 60,
        Some("start") => 1,
        _ => 20,
    };
    let point = format!("{step}@{}={action}", 1 + random.below(most));
    let start = place.replicas[which].start.with("RETICENT_FAILPOINT", point);
    let mut server = Server::start(&start);
    if action == "stop" && is_stopped_within(&mut server, Duration::from_millis(400)) {
        // It is stopped before its first answer.
        std::thread::sleep(PAST_THE_LEASE);
        server.signal("-CONT");
    }
    let address = server.begun();
    place.replicas[which].server = server;
    if let Some(address) = address {
        place.replicas[which].address = address;
        let others = others(place, which, step);
        match others.first() {
            Some(other) => place.serve_without(*other),
            None => place.serve(),
        }
        return true;
    }
    action == "kill"
}

/// Processes that must not run for this one to come to a step: a tick is made by one of them.
fn others(place: &Place, which: usize, step: &str) -> Vec<usize> {
    let all = 0..place.replicas.len();
    let is_for_one = step.starts_with("tick") || step.starts_with("model");
    all.filter(|other| *other != which && is_for_one).collect()
}

/// Starts them again.
fn begin_others(place: &mut Place, which: usize, step: &str) {
    for other in others(place, which, step) {
        place.restart(other);
    }
}

/// True if a process is stopped by a signal within this time.
fn is_stopped_within(server: &mut Server, time: Duration) -> bool {
    let end = std::time::Instant::now() + time;
    let stat = format!("/proc/{}/stat", server.id());
    while std::time::Instant::now() < end {
        // Behind the name, which stands in parentheses: the state.
        let text = std::fs::read_to_string(&stat).unwrap_or_default();
        if text.rsplit_once(") ").is_some_and(|(_, rest)| rest.starts_with('T')) {
            return true;
        }
        std::thread::sleep(Duration::from_millis(5));
    }
    false
}
