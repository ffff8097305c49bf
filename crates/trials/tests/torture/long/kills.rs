//! Processes that are killed again and again, every few hundred milliseconds, at random moments and at named steps, each by itself or all at once; now and then it is PostgreSQL.

use std::{
    os::unix::process::ExitStatusExt,
    time::{Duration, Instant},
};

use reticent_server::failpoint::STEPS;

use super::{
    super::{CLIENTS, Clients, Random, Server},
    Table,
    accident::{DATABASE_KILLED, KILLED, KILLED_STARTING, killed_at},
    place::{Kind, Place},
};

/// Kills of one round, at most.
const KILLS: u64 = 80;

/// PostgreSQL is killed once in this number of kills.
const DATABASE: u64 = 24;

/// Longest time of the start of a process.
const START: Duration = Duration::from_secs(30);

/// Signal that ends a process at a named step.
const ABORTED: i32 = 6;

/// A process from its start to its kill.
struct Life {
    /// A step at which it dies by itself, if it comes to it.
    step: Option<&'static str>,
    /// True if it answers.
    is_up: bool,
    /// True if it is to die before it answers.
    dies_starting: bool,
    /// Moment of its kill.
    ends: Instant,
}

impl Life {
    /// Begins one in place of the last.
    fn begin(place: &mut Place, which: usize, random: &mut Random) -> Self {
        let any = random.below(2 * STEPS.len() as u64) as usize;
        let step = STEPS.get(any).copied();
        let mut start = place.replicas[which].start.clone();
        if let Some(step) = step {
            let most = match step.split(':').next() {
                Some("store") => 80,
                Some("rank" | "reward" | "report") => 30,
                Some("start") => 1,
                _ => 6,
            };
            let point = format!("{step}@{}=kill", 1 + random.below(most));
            start = start.with("RETICENT_FAILPOINT", point);
        }
        // Two processes cannot open one file.
        place.replicas[which].server.kill();
        place.replicas[which].server = Server::start(&start);
        let dies_starting = random.below(8) == 0;
        let most = if dies_starting { Duration::from_millis(random.below(150)) } else { START };
        Life { step, is_up: false, dies_starting, ends: Instant::now() + most }
    }

    /// It answers from now on: some live long enough to release.
    fn is_up(&mut self, random: &mut Random) {
        let most = if random.below(6) == 0 { 4000 } else { 800 };
        self.is_up = true;
        self.ends = Instant::now() + Duration::from_millis(random.below(most));
    }
}

/// A round of the wanted number of kills, or of as many as one round has, and the check at its end.
pub fn kills(kind: Kind, random: &mut Random, table: &mut Table, left: u64) {
    let wanted = if left == 0 { KILLS } else { left.min(KILLS) };
    let mut place = Place::new(kind);
    let seed = random.below(u64::MAX);
    let clients = Clients::start(&place.shared, 0..CLIENTS, seed).with_devices(&place.shared, seed);
    let all = 0..place.replicas.len();
    let mut lives: Vec<Life> =
        all.clone().map(|which| Life::begin(&mut place, which, random)).collect();
    let mut made = 0;
    while made < wanted {
        let is_time = lives.iter().any(|life| life.is_up && life.ends <= Instant::now());
        // Sometimes all of them die in the same moment.
        let together = is_time && random.below(6) == 0;
        for which in all.clone() {
            let (life, replica) = (&mut lives[which], &mut place.replicas[which]);
            if let Some(address) = replica.server.begun_by_now() {
                replica.address = address;
                life.is_up(random);
            }
            let what = match (replica.server.ended(), life.step) {
                (None, _) if together || life.ends <= Instant::now() => {
                    assert!(together || life.is_up || life.dies_starting, "it does not start");
                    replica.server.kill();
                    if life.is_up { KILLED.into() } else { KILLED_STARTING.into() }
                }
                (None, _) => continue,
                (Some(status), Some(step)) if status.signal() == Some(ABORTED) => killed_at(step),
                (Some(status), _) => {
                    // One cannot begin while PostgreSQL is away; nothing else ends one.
                    println!("  a process ended with {status}");
                    let is_excused = kind == Kind::Database && !life.is_up;
                    table.add(kind, "i could not start: the database was away", is_excused.into());
                    table.add(kind, "z violations", (!is_excused).into());
                    std::thread::sleep(Duration::from_millis(100));
                    *life = Life::begin(&mut place, which, random);
                    continue;
                }
            };
            table.add(kind, what, 1);
            made += 1;
            *life = Life::begin(&mut place, which, random);
            if let Some((cluster, ..)) =
                place.database.as_ref().filter(|_| random.below(DATABASE) == 0)
            {
                cluster.kill();
                table.add(kind, DATABASE_KILLED, 1);
                made += 1;
            }
        }
        place.serve_those(|which| lives[which].is_up);
        std::thread::sleep(Duration::from_millis(2));
    }
    place.kill_all();
    place.restart_all();
    std::thread::sleep(Duration::from_millis(1000));
    let histories = clients.stop();
    place.settle();
    place.kill_all();
    table.found(kind, &place.examine(&histories));
}
