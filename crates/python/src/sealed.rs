//! A device of a loop with a shuffler: reports are priced by the device's own accountant, counted on the disk, and sealed.

use pyo3::{prelude::*, types::PyBytes};
use reticent::noise::SecureNoise;
use reticent_device::{Limits, sealed::SealedDevice as CoreDevice};

use crate::{
    device::{Choice, Count, moment},
    error::Answer,
    features::records,
    fork_guard::{ForkGuarded, Forked},
    integers, messages,
};

impl Forked for CoreDevice<SecureNoise> {
    /// A copy would draw the same noise.
    fn forked(&mut self, _others: u64) -> reticent::Result<()> {
        let remedy = "its noise would come twice: make a new one here by `Person.from_sealing`, with the same file of the ledger";
        Err(reticent::Error::invalid("device", "a forked copy", remedy))
    }
}

/// The device of one installation in a loop with a shuffler, made by `Person.from_sealing`. Only sealed reports leave it.
#[pyclass(module = "reticent", name = "SealedDevice")]
pub(crate) struct SealedDevice {
    device: ForkGuarded<CoreDevice<SecureNoise>>,
    count: Count,
}

impl SealedDevice {
    pub(crate) fn from_sealing(
        py: Python<'_>,
        plan: &[u8],
        sealing: [&[u8]; 2],
        limits: Limits,
        count: Count,
    ) -> Answer<Self> {
        let noise = SecureNoise::from_system()?;
        // Pricing takes a while.
        let device = py.detach(|| CoreDevice::new(plan, sealing, limits, noise))?;
        Ok(SealedDevice { device: ForkGuarded::new(device), count })
    }
}

#[pymethods]
impl SealedDevice {
    /// Choices from now on follow this model.
    fn set_model(&mut self, model: &Bound<'_, PyAny>) -> Answer<()> {
        let mut read = None;
        let model = messages::model(model, &mut read)?.clone();
        Ok(self.device.enter()?.set_model(model)?)
    }

    /// The action to take. Records are as in `Features.arms`.
    fn choose(&mut self, context: &Bound<'_, PyAny>, actions: &Bound<'_, PyAny>) -> Answer<Choice> {
        let device = self.device.enter()?;
        let (context, actions) = records(device.features(), context, actions)?;
        Ok(Choice(device.choose(&context, &actions)?))
    }

    /// The sealed report of a choice and its reward, for the shuffler: it was counted before it is returned, and is sent again as the same bytes. Beyond the
    /// count it is refused. `now` is the time in seconds after the beginning of 1970, by default the system's.
    #[pyo3(signature = (choice, reward, *, now = None))]
    fn report<'py>(
        &mut self,
        py: Python<'py>,
        choice: &Choice,
        reward: f64,
        #[pyo3(from_py_with = integers::now)] now: Option<u64>,
    ) -> Answer<Bound<'py, PyBytes>> {
        let (seconds, device) = (moment(now)?, self.device.enter()?);
        let sealed = match &mut self.count {
            Count::File(file) => file.update(|stored| {
                Ok(device.report(stored.as_ref(), seconds, &choice.0, reward)?)
            })?,
            Count::Memory(stored) => {
                let (sealed, ledger) =
                    device.report(stored.as_ref(), seconds, &choice.0, reward)?;
                *stored = Some(ledger);
                sealed
            }
        };
        Ok(PyBytes::new(py, &sealed))
    }

    /// Reports that may still be made.
    #[pyo3(signature = (*, now = None))]
    fn reports_left(&self, #[pyo3(from_py_with = integers::now)] now: Option<u64>) -> Answer<u64> {
        let stored = self.count.read()?;
        Ok(self.device.read().ledger(stored.as_ref(), moment(now)?)?.left())
    }

    /// The ledger as it is stored; `None` for a new installation.
    #[getter]
    fn ledger<'py>(&self, py: Python<'py>) -> Answer<Option<Bound<'py, PyBytes>>> {
        Ok(self.count.read()?.map(|ledger| PyBytes::new(py, &ledger.save())))
    }

    /// The loop's name.
    #[getter]
    fn r#loop(&self) -> &str {
        &self.device.read().subject().loop_name
    }

    /// The hash of what devices, shuffler and server agree on, which reports carry.
    #[getter]
    fn protocol(&self) -> String {
        reticent_device::sealed::hex(&self.device.read().subject().protocol)
    }

    fn __repr__(&self) -> String {
        format!("SealedDevice(loop={:?})", self.r#loop())
    }
}
