//! Processor seconds of programs that were started, and the table of all steps at the end.
//!
//! A program's time is that of all processes below it that were waited for. Linux states it in `/proc/PID/stat` until a program that has ended is waited
//! for itself; other systems print a dash. Wall time depends on what else the machine does, and processor time hardly.

use std::{
    fmt::Write as _,
    fs,
    process::{Child, Command, ExitStatus},
    sync::Mutex,
    thread,
    time::{Duration, Instant},
};

/// Ticks of Linux in a second of processor time, on every architecture.
const TICKS: f64 = 100.0;

/// Time between two looks at a program that runs.
const LOOK: Duration = Duration::from_millis(20);

/// Time that a step took.
#[derive(Clone, Debug)]
pub struct Step {
    pub name: String,
    /// Its beginning, in seconds after the first step.
    pub began: f64,
    pub wall: f64,
    /// Processor seconds, where the system states them.
    pub processor: Option<f64>,
}

/// All steps that have ended, in this process.
static STEPS: Mutex<Vec<(Instant, Step)>> = Mutex::new(Vec::new());

/// Runs a command to its end and records it under a name.
pub fn record(name: &str, command: &mut Command) -> std::io::Result<(ExitStatus, Step)> {
    let start = Instant::now();
    let mut child = command.spawn()?;
    let processor = wait(&mut child);
    let status = child.wait()?;
    let wall = start.elapsed().as_secs_f64();
    let step = Step { name: name.to_string(), began: 0.0, wall, processor };
    STEPS.lock().expect("no thread panics with the lock").push((start, step.clone()));
    Ok((status, step))
}

/// Prints the table of all steps, if there were several.
pub fn print_steps() {
    let mut steps = std::mem::take(&mut *STEPS.lock().expect("no thread panics with the lock"));
    steps.sort_by_key(|(start, _)| *start);
    if let [(first, _), _, ..] = steps[..] {
        let relative =
            |(start, step): (Instant, Step)| Step { began: (start - first).as_secs_f64(), ..step };
        eprint!("\n{}", table(&steps.into_iter().map(relative).collect::<Vec<_>>()));
    }
}

/// A table of steps in the order in which they began, and the sums. Steps that run beside each other share the wall.
pub fn table(steps: &[Step]) -> String {
    let width = steps.iter().map(|step| step.name.chars().count()).max().unwrap_or(0).max(5);
    let mut text =
        format!("{:width$}  {:>8}  {:>8}  {:>11}\n", "step", "from, s", "wall, s", "processor, s");
    let mut line = |name: &str, began: f64, wall: f64, processor: Option<f64>| {
        let processor = processor.map_or("-".to_string(), |seconds| format!("{seconds:.1}"));
        let _ = writeln!(text, "{name:width$}  {began:>8.0}  {wall:>8.1}  {processor:>12}");
    };
    for step in steps {
        line(&step.name, step.began, step.wall, step.processor);
    }
    let end = steps.iter().map(|step| step.began + step.wall).fold(0.0, f64::max);
    let processor = steps.iter().map(|step| step.processor).sum();
    line("all", 0.0, end, processor);
    text
}

/// Waits until a program ends, but leaves it to be waited for, and returns its processor seconds.
fn wait(child: &mut Child) -> Option<f64> {
    loop {
        let stat = stat(child.id())?;
        if matches!(state(&stat), Some('Z' | 'X')) {
            return seconds(&stat, OWN).zip(seconds(&stat, CHILDREN)).map(|(own, of)| own + of);
        }
        thread::sleep(LOOK);
    }
}

/// Processor seconds of a running program and of those below it that have ended.
pub fn so_far(child: &Child) -> Option<f64> {
    let stat = stat(child.id())?;
    Some(seconds(&stat, OWN)? + seconds(&stat, CHILDREN)?)
}

/// Processor seconds of all programs that this process has waited for.
pub fn of_children() -> Option<f64> {
    seconds(&fs::read_to_string("/proc/self/stat").ok()?, CHILDREN)
}

/// Place of the ticks of a process, and of its children, behind its name: those of the program, and the next one those of the system for it.
const OWN: usize = 11;
const CHILDREN: usize = 13;

fn stat(process: u32) -> Option<String> {
    fs::read_to_string(format!("/proc/{process}/stat")).ok()
}

/// The fields behind the name, which may have spaces and brackets itself.
fn fields(stat: &str) -> impl Iterator<Item = &str> {
    stat.rsplit_once(')').map_or("", |(_, rest)| rest).split_whitespace()
}

fn state(stat: &str) -> Option<char> {
    fields(stat).next()?.chars().next()
}

fn seconds(stat: &str, place: usize) -> Option<f64> {
    let ticks: Vec<f64> =
        fields(stat).skip(place).take(2).map(str::parse).collect::<Result<_, _>>().ok()?;
    (ticks.len() == 2).then(|| ticks.iter().sum::<f64>() / TICKS)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ticks_are_read_behind_a_name_with_spaces_and_brackets() {
        let stat = "7 (a (b) c) Z 1 2 3 4 5 6 7 8 9 10 150 50 1000 200 20 0";
        assert_eq!(state(stat), Some('Z'));
        assert_eq!(seconds(stat, OWN), Some(2.0));
        assert_eq!(seconds(stat, CHILDREN), Some(12.0));
        assert_eq!(seconds("7 (cut) R 1 2", OWN), None);
    }

    #[test]
    fn a_step_has_the_time_of_the_programs_below_it() {
        let busy = "i=0; while [ $i -lt 200000 ]; do i=$((i+1)); done";
        let mut shell = Command::new("sh");
        shell.args(["-c", &format!("sh -c '{busy}'; exit 3")]);
        let (status, step) = record("busy", &mut shell).unwrap();
        assert_eq!(status.code(), Some(3));
        if cfg!(target_os = "linux") {
            let processor = step.processor.unwrap();
            // The machine's ticks are whole, and a busy machine only makes the wall longer.
            assert!(processor > 0.0 && processor < step.wall + 0.1, "{step:?}");
        }
    }

    #[test]
    fn the_table_has_the_end_of_the_last_step_and_the_sum_of_processor_seconds() {
        let step = |name: &str, began, wall, processor| Step {
            name: name.to_string(),
            began,
            wall,
            processor,
        };
        let both = [step("lints", 0.0, 10.0, Some(15.0)), step("tests", 5.0, 20.0, Some(30.0))];
        let printed = table(&both);
        let last: Vec<_> = printed.lines().last().unwrap().split_whitespace().collect();
        assert_eq!(last, ["all", "0", "25.0", "45.0"]);
        let unknown = table(&[step("lints", 0.0, 10.0, None)]);
        assert!(unknown.lines().last().unwrap().ends_with('-'), "{unknown}");
    }
}
