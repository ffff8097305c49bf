//! `firefox`: the setting of Firefox's New Tab, whose public code randomises a vector of interests by unary encoding and fits Thompson sampling on what the
//! server decodes, with a release every ten minutes. The same people, the same sections and the same rule with our randomisers, at the same epsilon, half and a tenth
//! of it; and what every design promises over a day, a week and a month of refreshes.
//!
//! The constants (p, q, eight interests of four levels, how bits are decoded, ten minutes) are those of mozilla-services/merino-py and of Firefox's source. People,
//! sections and clicks are invented (`day`), so regrets compare designs and say nothing of Firefox's own numbers.

mod day;
mod unary;

use reticent::privacy::{Event, Guarantee, TrustModel};

use self::{
    day::{DELTA, Day, Design, RELEASES, day, local_plan, shuffle_plan},
    unary::{INTERESTS, event, event_of_refreshes},
};
use reticent_lab::{
    Result,
    papers::{Claim, Extent, Judgement, Stage},
    play::{parallel::in_parallel, trial::mix},
    report::{
        estimate::Estimate,
        figure::{Figure, Line, Scale, Series},
        html as report,
        html::Report,
    },
};

/// Refreshes that are priced: one, a day of them every four hours, a month of one a day.
const REFRESHES: [u64; 3] = [1, 6, 30];

/// The epsilon of one interest at delta = 0.
fn epsilon_of_interest() -> Result<f64> {
    let guarantee = Guarantee::of(&event(), TrustModel::Local, DELTA)?;
    Ok(guarantee.pure_epsilon().unwrap_or(f64::INFINITY))
}

/// A design with what was measured of it.
struct Row {
    name: String,
    /// Data of a person that the guarantee covers.
    covers: &'static str,
    design: Design,
    days: Vec<Day>,
    /// epsilon at delta = 1e-6 of one, six and thirty refreshes.
    epsilons: Option<[f64; 3]>,
}

impl Row {
    fn regrets(&self) -> Vec<f64> {
        self.days.iter().map(|day| day.regret[RELEASES as usize - 1]).collect()
    }

    fn regret(&self) -> Estimate {
        Estimate::of(&self.regrets())
    }

    fn mean(&self, of: impl Fn(&Day) -> f64) -> f64 {
        self.days.iter().map(of).sum::<f64>() / self.days.len() as f64
    }

    /// Gain over the other, trial by trial: the mean, and its standard error.
    fn gain_over(&self, other: &Row) -> Estimate {
        let pairs = self.regrets().into_iter().zip(other.regrets());
        Estimate::of(&pairs.map(|(own, other)| other - own).collect::<Vec<_>>())
    }

    fn cells(&self) -> Vec<String> {
        let regret = self.regret();
        let epsilons = match self.epsilons {
            Some(epsilons) => epsilons.map(|epsilon| format!("{epsilon:.1}")),
            None => std::array::from_fn(|_| "none".into()),
        };
        let mut cells = vec![
            self.name.clone(),
            self.covers.into(),
            format!("{:.0} +- {:.0}", regret.mean, regret.standard_error),
            format!("{:.0}", regret.median),
            format!("{:.0}", regret.percentile_95),
            format!("{:.2} %", 100.0 * self.mean(|day| day.click_rate)),
            self.days[0].bytes_up.to_string(),
            self.days[0].bytes_down.to_string(),
        ];
        cells.extend(epsilons);
        cells
    }
}

/// Least epsilon of this number of these events.
fn epsilon_of(event: Event, times: u64, trust: TrustModel) -> Result<f64> {
    Ok(Guarantee::of_person(&event, times, trust, DELTA)?.epsilon())
}

/// Epsilons of a design for one, six and thirty refreshes, if it has any.
fn epsilons(design: Design, people: u64) -> Result<Option<[f64; 3]>> {
    let mut found = [0.0; 3];
    for (epsilon, refreshes) in found.iter_mut().zip(REFRESHES) {
        *epsilon = match design {
            Design::NoPrivacy => return Ok(None),
            Design::Unary | Design::UnaryOnDevice => {
                epsilon_of(event_of_refreshes(refreshes), 1, TrustModel::Local)?
            }
            Design::Local(level) => {
                epsilon_of(local_plan(level)?.event(0)?, refreshes, TrustModel::Local)?
            }
            Design::Shuffled(level) => {
                let plan = shuffle_plan(level, people)?;
                epsilon_of(plan.event()?, refreshes, TrustModel::Shuffle)?
            }
        };
    }
    Ok(Some(found))
}

fn designs(whole: f64) -> Vec<(String, &'static str, Design)> {
    let own = |share: &str, epsilon: f64| {
        let name = format!("our reports, {share}: epsilon {epsilon:.1}");
        (name, "interest, section, click", Design::Local(epsilon))
    };
    let summed = |epsilon: f64| {
        let name = format!("our reports, summed by a shuffler: epsilon {epsilon:.1}");
        (name, "interest, section, click", Design::Shuffled(epsilon))
    };
    vec![
        ("no privacy".into(), "nothing", Design::NoPrivacy),
        ("unary encoding, the server chooses".into(), "interests", Design::Unary),
        ("unary encoding, the device chooses".into(), "interests", Design::UnaryOnDevice),
        own("the same", whole),
        own("half", 0.5 * whole),
        own("a tenth", 0.1 * whole),
        summed(0.1 * whole),
        summed(1.0),
    ]
}

const HEADER: [&str; 11] = [
    "design",
    "what epsilon covers",
    "regret of a day",
    "median",
    "95 % quantile",
    "click rate",
    "bytes sent",
    "bytes fetched a release",
    "epsilon of a refresh",
    "of six",
    "of thirty",
];

/// The experiment.
pub fn firefox(stage: &Stage) -> Result<Vec<Claim>> {
    let (people, trials) = match stage.extent {
        Extent::Quick => (700 * RELEASES, 8_u64),
        Extent::Full => (2800 * RELEASES, 8),
    };
    let interest = epsilon_of_interest()?;
    let whole = INTERESTS as f64 * interest;
    let mut rows = Vec::new();
    for (name, covers, design) in designs(whole) {
        (stage.progress)(&name);
        let seeds: Vec<u64> = (0..trials).map(|trial| mix(23, trial)).collect();
        let days = in_parallel(&seeds, |_, _| (), |&seed| day(design, people, seed))?;
        rows.push(Row { name, covers, design, days, epsilons: epsilons(design, people)? });
    }
    write(stage, people, &rows)?;
    let [_, server, device, same, half, tenth, summed, one] = &rows[..] else {
        unreachable!("as many rows as designs");
    };
    let mut claims = vec![price(interest, server)];
    claims.push(compare(
        "unary encoding",
        "chosen on the device by exact interests",
        device,
        server,
    ));
    for (row, words) in [(same, "the same epsilon"), (half, "half of it"), (tenth, "a tenth of it")]
    {
        claims.push(compare("our reports", &format!("at {words}, clicks covered"), row, server));
    }
    for (row, words) in [(summed, "a tenth of it"), (one, "epsilon 1")] {
        let how = format!("summed by a shuffler at {words}, clicks covered");
        claims.push(compare("our reports", &how, row, server));
    }
    Ok(claims)
}

/// Claims on the certificate of the encoding.
fn price(interest: f64, server: &Row) -> Claim {
    let [refresh, six, thirty] = server.epsilons.unwrap_or([f64::NAN; 3]);
    let whole = INTERESTS as f64 * interest;
    Claim {
        claim: "spec: unary encoding costs about epsilon 5.96 an interest and 48 a refresh by basic composition, and exact composition changes little".into(),
        judgement: Judgement::computed(
            (interest - 5.96).abs() < 0.01
                && (whole - 48.0).abs() < 0.5
                && refresh > 0.95 * whole
                && six > 0.85 * 6.0 * whole,
        ),
        measured: format!(
            "{interest:.3} an interest, {whole:.1} a refresh; at delta = 1e-6, exactly, {refresh:.1} a refresh, {six:.0} for six, {thirty:.0} for thirty"
        ),
        expected: "5.96 and 48; within 15 % of six times that for six refreshes".into(),
    }
}

/// Claims that a design loses no more than the one that runs today.
fn compare(what: &str, how: &str, row: &Row, today: &Row) -> Claim {
    let gain = row.gain_over(today);
    let (own, other) = (row.regret(), today.regret());
    Claim {
        claim: format!(
            "{what}, {how}, lose no more than unary encoding with choices by the server"
        ),
        judgement: Judgement::positive(gain.mean, gain.standard_error, gain.trials),
        measured: format!(
            "{:.0} +- {:.0} against {:.0} +- {:.0}; click rates {:.2} % and {:.2} %, the best {:.2} %",
            own.mean,
            own.standard_error,
            other.mean,
            other.standard_error,
            100.0 * row.mean(|day| day.click_rate),
            100.0 * today.mean(|day| day.click_rate),
            100.0 * row.mean(|day| day.best_rate),
        ),
        expected: "less, by three standard errors of the difference".into(),
    }
}

fn write(stage: &Stage, people: u64, rows: &[Row]) -> Result<()> {
    let cells: Vec<Vec<String>> = rows.iter().map(Row::cells).collect();
    let mut plain = format!("| {} |\n|{}\n", HEADER.join(" | "), " --- |".repeat(HEADER.len()));
    cells.iter().for_each(|row| plain.push_str(&format!("| {} |\n", row.join(" | "))));
    report::write(stage.folder, "table.md", &plain)?;
    let series = rows.iter().enumerate().map(|(colour, row)| {
        let points = (0..RELEASES as usize).map(|release| {
            let hours = (release + 1) as f64 / 6.0;
            (hours, row.mean(|day| day.regret[release]))
        });
        let line = if row.design == Design::NoPrivacy { Line::Dashed } else { Line::Solid };
        Series {
            name: row.name.clone(),
            colour,
            line,
            points: points.collect(),
            ..Series::default()
        }
    });
    let figure = Figure {
        caption: format!(
            "{people} page views a day, {} days each; clicks lost to the best section",
            rows[0].days.len()
        ),
        ..Figure::of(
            "Interests on a New Tab page".into(),
            ("hours".into(), Scale::Linear),
            ("clicks lost so far".into(), Scale::Linear),
            series.collect(),
        )
    };
    figure.write(stage.folder, "day")?;
    let mut page = Report::new("firefox");
    page.table(&HEADER, &cells);
    page.figure(&figure)?;
    report::write(stage.folder, "table.html", page.html())
}
