//! A device's ledger in a file: all processes of an installation share one count of reports.
//!
//! ```text
//! lock -> read the ledger -> report made (held) -> ledger written, synced, renamed -> unlock -> report given out
//! ```
//!
//! A process that is killed before the rename has given nothing out and counted nothing; after it, the report is counted whether or not any caller
//! receives it. No report is given out that is not counted.

use std::{
    fs::{self, File, OpenOptions},
    io::{ErrorKind, Write},
    path::PathBuf,
};

use reticent::{noise::Noise, randomize::Report};
use reticent_device::{Choice, Device, Ledger};

use crate::{
    Error, Result,
    journal::protect,
    log::{make_folder, sync_folder},
};

/// The file of an installation's ledger; a file that is not there is a new installation.
///
/// ```
/// use reticent::{features::{Encoding, FeaturesParams, Value}, noise::SecureNoise};
/// use reticent_device::{Device, Limits, ProtocolParams};
/// use reticent_durable::LedgerFile;
///
/// let topics = ["news", "sport"].map(String::from).to_vec();
/// let rule = FeaturesParams::new([], [("topic", Encoding::Categories(topics))]);
/// let protocol = ProtocolParams::new("home", rule, (0.0, 1.0), 4.0, 1e-6)?.check()?;
/// let mut server = protocol.local(&protocol.params().report.clone().into())?.server();
///
/// let folder = std::env::temp_dir().join("reticent-ledger-example");
/// # let _ = std::fs::remove_dir_all(&folder);
/// let ledger = LedgerFile::new(folder.join("home.ledger"));
/// let mut device = Device::new(protocol, Limits::of("home"), 0, SecureNoise::from_system()?)?;
/// device.set_model(server.publish()?)?;
/// let actions = ["news", "sport"].map(|topic| Value::from_iter([("topic", topic)]));
/// let choice = device.choose(&Value::Missing, &actions)?;
/// let now = 1_700_000_000;
/// server.absorb(&ledger.report(&mut device, now, &choice, 1.0)?)?;
/// assert!(ledger.report(&mut device, now, &choice, 1.0).is_err());
/// # Ok::<(), reticent_durable::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct LedgerFile {
    path: PathBuf,
}

impl LedgerFile {
    /// Nothing is opened before it is needed.
    pub fn new(path: impl Into<PathBuf>) -> Self {
        LedgerFile { path: path.into() }
    }

    /// Stored ledger; `None` for a new installation. A file that cannot be read as a ledger is an error: nothing is reported without the count.
    pub fn read(&self) -> Result<Option<Ledger>> {
        match fs::read(&self.path) {
            Ok(bytes) => Ok(Some(Ledger::load(&bytes)?)),
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
            Err(error) => Err(Error::file(&self.path, "read")(error)),
        }
    }

    /// The report of a choice and its reward, counted on the disk before it is returned. An error makes no report, and counts none unless the disk
    /// failed after the count was written.
    pub fn report<N: Noise>(
        &self,
        device: &mut Device<N>,
        seconds: u64,
        choice: &Choice,
        reward: f64,
    ) -> Result<Report> {
        self.update(|stored| {
            let ledger = stored.unwrap_or_else(|| Ledger::new(device.protocol(), seconds));
            Ok(device.report(&ledger, seconds, choice, reward)?)
        })
    }

    /// Replaces the ledger by what `change` makes of it, while no other process does: for reports that another party makes. What comes with the ledger is
    /// returned when it is on the disk.
    pub fn update<T>(
        &self,
        change: impl FnOnce(Option<Ledger>) -> Result<(T, Ledger)>,
    ) -> Result<T> {
        if let Some(folder) = self.path.parent() {
            make_folder(folder)?;
        }
        // A file of its own: the ledger's is replaced.
        let path = self.path.with_added_extension("lock");
        let lock = OpenOptions::new().create(true).truncate(false).write(true).open(&path);
        let lock = lock.map_err(Error::file(&path, "opened"))?;
        lock.lock().map_err(Error::file(&path, "locked"))?;
        let (value, ledger) = change(self.read()?)?;
        self.store(&ledger)?;
        Ok(value)
    }

    fn store(&self, ledger: &Ledger) -> Result<()> {
        let new = self.path.with_added_extension("new");
        let write = || {
            let mut file = File::create(&new)?;
            protect(&file)?;
            file.write_all(&ledger.save())?;
            file.sync_all()
        };
        write().map_err(Error::file(&new, "written"))?;
        fs::rename(&new, &self.path).map_err(Error::file(&self.path, "replaced"))?;
        sync_folder(&self.path)
    }
}

#[cfg(test)]
mod tests {
    use std::{
        sync::{
            Barrier, Mutex,
            atomic::{AtomicU64, Ordering::Relaxed},
        },
        thread,
    };

    use reticent::{
        features::{Encoding, FeaturesParams, Value},
        noise::SecureNoise,
        randomize::ReportParams,
    };
    use reticent_device::{Limits, Period, ProtocolParams, ProtocolPlan};

    use super::*;
    use crate::journal::tests::Folder;

    const NOW: u64 = 1_700_000_000;

    fn protocol(name: &str, most: u64) -> ProtocolPlan {
        let rule = FeaturesParams::new([], [("price", Encoding::Range(0.0, 1.0))]);
        let params = ProtocolParams::new(name, rule, (0.0, 1.0), 4.0, 1e-6).unwrap();
        let report = ReportParams { contributions_per_person: most, ..params.report };
        ProtocolParams { report, period: Period::Seconds(86_400), ..params }.check().unwrap()
    }

    fn device(protocol: &ProtocolPlan) -> (Device<SecureNoise>, Choice) {
        let report = protocol.params().report.clone();
        let mut server = protocol.local(&report.into()).unwrap().server();
        let noise = SecureNoise::from_system().unwrap();
        let limits = Limits::of(&protocol.params().name);
        let mut device = Device::new(protocol.clone(), limits, 0, noise).unwrap();
        device.set_model(server.publish().unwrap()).unwrap();
        let choice = device.choose(&Value::Missing, &[Value::Missing]).unwrap();
        (device, choice)
    }

    /// Number of reports eight programs make that each try ten times, where `report` makes one.
    fn reports(
        protocol: &ProtocolPlan,
        report: impl Fn(&mut Device<SecureNoise>, &Choice) -> Result<Report> + Sync,
    ) -> u64 {
        let made = AtomicU64::new(0);
        thread::scope(|scope| {
            for _ in 0..8 {
                scope.spawn(|| {
                    let (mut device, choice) = device(protocol);
                    for _ in 0..10 {
                        made.fetch_add(u64::from(report(&mut device, &choice).is_ok()), Relaxed);
                    }
                });
            }
        });
        made.into_inner()
    }

    #[test]
    fn programs_that_report_at_once_share_one_count() {
        let folder = Folder::new("ledger-shared");
        let protocol = protocol("home", 20);
        let file = LedgerFile::new(folder.0.join("deep/home.ledger"));
        let report =
            |device: &mut Device<_>, choice: &Choice| file.report(device, NOW, choice, 1.0);
        assert_eq!(reports(&protocol, report), 20);
        let stored = file.read().unwrap().unwrap();
        assert_eq!((stored.reports(), stored.left()), (20, 0));
        // The next day begins anew.
        let (mut device, choice) = device(&protocol);
        file.report(&mut device, NOW + 86_400, &choice, 1.0).unwrap();

        // What it must not be: all read before any writes.
        let (stored, all_have_read) = (Mutex::new(None), Barrier::new(8));
        let careless = |device: &mut Device<_>, choice: &Choice| {
            let ledger = stored.lock().unwrap().clone();
            all_have_read.wait();
            let ledger = ledger.unwrap_or_else(|| Ledger::new(device.protocol(), NOW));
            let (report, ledger) = device.report(&ledger, NOW, choice, 1.0)?;
            *stored.lock().unwrap() = Some(ledger);
            Ok(report)
        };
        assert_eq!(reports(&protocol, careless), 80);
    }

    #[test]
    fn errors_count_nothing_and_a_damaged_file_reports_nothing() {
        let folder = Folder::new("ledger-errors");
        let file = LedgerFile::new(folder.0.join("home.ledger"));
        let (mut device_home, choice) = device(&protocol("home", 2));
        assert!(file.report(&mut device_home, NOW, &choice, f64::NAN).is_err());
        assert!(file.read().unwrap().is_none());
        file.report(&mut device_home, NOW, &choice, 1.0).unwrap();
        let kept = fs::read(&file.path).unwrap();
        let (mut shop, choice_of_shop) = device(&protocol("shop", 2));
        let error = file.report(&mut shop, NOW, &choice_of_shop, 1.0).unwrap_err().to_string();
        assert!(error.starts_with("ledger: got one of loop \"home\""), "{error}");
        assert_eq!(fs::read(&file.path).unwrap(), kept);
        fs::write(&file.path, &kept[..kept.len() - 1]).unwrap();
        assert!(file.read().is_err());
        assert!(file.report(&mut device_home, NOW, &choice, 1.0).is_err());
        // A ledger that cannot be stored: nothing is given out.
        fs::write(&file.path, &kept).unwrap();
        fs::create_dir(file.path.with_added_extension("new")).unwrap();
        let error = file.report(&mut device_home, NOW, &choice, 1.0).unwrap_err().to_string();
        assert!(error.contains("home.ledger.new: got "), "{error}");
        assert!(error.contains("it cannot be written"), "{error}");
        assert_eq!(file.read().unwrap().unwrap().reports(), 1);
    }
}
