//! The functions that JavaScript calls.
//!
//! JavaScript asks for room with `input(length)`, writes all byte arguments there one after the other, and gives their lengths. The answer of a function
//! stands at `output()` with `output_length()`: its result, or the text of an error if it returned -1. Devices are named by a number that `open`
//! gives and `close` takes back. No argument is a pointer of the caller's.

// Exported functions keep their names; there is no other unsafe code in this file.
#![allow(unsafe_code)]

use std::cell::RefCell;

use crate::Limits;
use reticent::{Error, Result, noise::SecureNoise};

type Device = super::WebDevice<SecureNoise>;

/// Bytes of one call's arguments, at most.
const MOST_INPUT: usize = 1 << 28;

thread_local! {
    static INPUT: RefCell<Vec<u8>> = const { RefCell::new(Vec::new()) };
    static OUTPUT: RefCell<Vec<u8>> = const { RefCell::new(Vec::new()) };
    static DEVICES: RefCell<Vec<Option<Device>>> = const { RefCell::new(Vec::new()) };
}

/// Room for the arguments of the next call; 0 if that is too much.
#[unsafe(no_mangle)]
extern "C" fn input(length: usize) -> *mut u8 {
    if length > MOST_INPUT {
        return std::ptr::null_mut();
    }
    INPUT.with_borrow_mut(|bytes| {
        bytes.clear();
        bytes.resize(length.max(1), 0);
        bytes.as_mut_ptr()
    })
}

/// Address of the last call's answer.
#[unsafe(no_mangle)]
extern "C" fn output() -> *const u8 {
    OUTPUT.with_borrow(|bytes| bytes.as_ptr())
}

/// Length of the last call's answer in bytes.
#[unsafe(no_mangle)]
extern "C" fn output_length() -> usize {
    OUTPUT.with_borrow(Vec::len)
}

/// A device from a protocol, the name that was asked for, a level, and the person's limits; its number.
#[unsafe(no_mangle)]
extern "C" fn open(
    protocol: usize,
    name: usize,
    level: usize,
    epsilon: f64,
    delta: f64,
    reports: f64,
    period: f64,
) -> i32 {
    answer([protocol, name], |[protocol, name]| {
        let limits = limits(name, epsilon, delta, reports, period);
        keep(Device::new(protocol, limits, level, SecureNoise::from_system()?)?)
    })
}

/// A device from a plan of reports, what server and shuffler answer about sealing, the name that was asked for, and the person's limits; its number.
#[unsafe(no_mangle)]
extern "C" fn open_sealed(
    plan: usize,
    server: usize,
    shuffler: usize,
    name: usize,
    epsilon: f64,
    delta: f64,
    reports: f64,
    period: f64,
) -> i32 {
    answer([plan, server, shuffler, name], |[plan, server, shuffler, name]| {
        let limits = limits(name, epsilon, delta, reports, period);
        keep(Device::sealed(plan, [server, shuffler], limits, SecureNoise::from_system()?)?)
    })
}

fn limits(name: &[u8], epsilon: f64, delta: f64, reports: f64, period: f64) -> Limits {
    let name = String::from_utf8_lossy(name).into_owned();
    // The conversions saturate.
    let (reports, period) = (reports as u64, period as u64);
    Limits { name, epsilon, delta, reports, period }
}

/// Keeps a device; its number.
fn keep(device: Device) -> Result<(i32, Vec<u8>)> {
    let number = DEVICES.with_borrow_mut(|devices| {
        let free = devices.iter().position(Option::is_none).unwrap_or(devices.len());
        if free == devices.len() {
            devices.push(None);
        }
        devices[free] = Some(device);
        free
    });
    Ok((number as i32, Vec::new()))
}

/// Drops a device.
#[unsafe(no_mangle)]
extern "C" fn close(device: usize) {
    DEVICES.with_borrow_mut(|devices| {
        if let Some(place) = devices.get_mut(device) {
            *place = None;
        }
    });
}

/// See [`super::WebDevice::set_level`].
#[unsafe(no_mangle)]
extern "C" fn set_level(device: usize, level: usize) -> i32 {
    answer([], |[]| on(device, |device| device.set_level(level)).map(|()| (0, Vec::new())))
}

/// See [`super::WebDevice::set_model`].
#[unsafe(no_mangle)]
extern "C" fn set_model(device: usize, model: usize) -> i32 {
    answer([model], |[model]| {
        on(device, |device| device.set_model(model)).map(|()| (0, Vec::new()))
    })
}

/// See [`super::WebDevice::choose`]: the index, and the saved choice.
#[unsafe(no_mangle)]
extern "C" fn choose(device: usize, context: usize, actions: usize) -> i32 {
    answer([context, actions], |[context, actions]| {
        let (index, choice) = on(device, |device| device.choose(context, actions))?;
        Ok((index as i32, choice))
    })
}

/// See [`super::WebDevice::report`]: the length of the ledger in the answer; the rest is the report.
#[unsafe(no_mangle)]
extern "C" fn report(
    device: usize,
    choice: usize,
    ledger: usize,
    seconds: f64,
    reward: f64,
) -> i32 {
    answer([choice, ledger], |[choice, ledger]| {
        // The conversion saturates.
        let (mut ledger, report) =
            on(device, |device| device.report(choice, ledger, seconds as u64, reward))?;
        let length = ledger.len() as i32;
        ledger.extend(report);
        Ok((length, ledger))
    })
}

/// See [`super::WebDevice::status`]: two doubles.
#[unsafe(no_mangle)]
extern "C" fn status(device: usize, ledger: usize, seconds: f64) -> i32 {
    answer([ledger], |[ledger]| {
        let status = on(device, |device| device.status(ledger, seconds as u64))?;
        let numbers = [status.left as f64, status.end as f64].map(f64::to_le_bytes);
        Ok((0, numbers.concat()))
    })
}

/// Calls `act` with the parts of the input, and keeps its answer.
fn answer<const PARTS: usize>(
    lengths: [usize; PARTS],
    act: impl FnOnce([&[u8]; PARTS]) -> Result<(i32, Vec<u8>)>,
) -> i32 {
    let mut input = INPUT.take();
    let mut rest = input.as_slice();
    let mut parts = [&[][..]; PARTS];
    let mut whole = true;
    for (part, length) in parts.iter_mut().zip(lengths) {
        match rest.split_at_checked(length) {
            Some((first, second)) => (*part, rest) = (first, second),
            None => whole = false,
        }
    }
    let result = match whole {
        true => act(parts),
        false => Err(Error::invalid("input", "too short an input", "write all arguments first")),
    };
    let (code, bytes) = result.unwrap_or_else(|error| (-1, error.to_string().into_bytes()));
    wipe(&mut input);
    wipe(&mut OUTPUT.replace(bytes));
    code
}

/// Writes over bytes that may hold a person's data.
fn wipe(bytes: &mut [u8]) {
    bytes.fill(0);
    // Otherwise a compiler may leave out writes that are never read.
    std::hint::black_box(bytes);
}

fn on<T>(device: usize, act: impl FnOnce(&mut Device) -> Result<T>) -> Result<T> {
    DEVICES.with_borrow_mut(|devices| match devices.get_mut(device).and_then(Option::as_mut) {
        Some(device) => act(device),
        None => Err(Error::invalid("person", "a closed one", "make a new one from the protocol")),
    })
}
