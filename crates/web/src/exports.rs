//! The functions that JavaScript calls.
//!
//! JavaScript asks for room with `input(length)`, writes all byte arguments there one after the other, and gives their lengths. What a function has to
//! say stands at `output()` with `output_length()`: its result, or the text of an error if it returned -1. Halves are named by a number that `open`
//! gives and `close` takes back. Nothing here is a pointer of the caller's, so nothing has to be believed.

// Exported functions keep their names; there is no other unsafe code in this file.
#![allow(unsafe_code)]

use std::cell::RefCell;

use reticent::{Error, Result, device::Limits, noise::SecureNoise};

#[cfg(not(feature = "sealed"))]
type Half = crate::Half<SecureNoise>;
#[cfg(feature = "sealed")]
type Half = crate::SealedHalf<SecureNoise>;

/// Bytes of one call's arguments, at most.
const MOST_INPUT: usize = 1 << 28;

thread_local! {
    static INPUT: RefCell<Vec<u8>> = const { RefCell::new(Vec::new()) };
    static OUTPUT: RefCell<Vec<u8>> = const { RefCell::new(Vec::new()) };
    static HALVES: RefCell<Vec<Option<Half>>> = const { RefCell::new(Vec::new()) };
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

/// Where the last call's answer stands.
#[unsafe(no_mangle)]
extern "C" fn output() -> *const u8 {
    OUTPUT.with_borrow(|bytes| bytes.as_ptr())
}

/// How long it is.
#[unsafe(no_mangle)]
extern "C" fn output_length() -> usize {
    OUTPUT.with_borrow(Vec::len)
}

/// A half from a protocol, the name that was asked for, a level, and the person's limits; its number.
#[cfg(not(feature = "sealed"))]
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
        keep(Half::new(protocol, limits, level, SecureNoise::from_system()?)?)
    })
}

/// A half from a plan of reports, what server and shuffler answer about sealing, the name that was asked for, and the person's limits; its number.
#[cfg(feature = "sealed")]
#[unsafe(no_mangle)]
extern "C" fn open(
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
        keep(Half::new(plan, [server, shuffler], limits, SecureNoise::from_system()?)?)
    })
}

fn limits(name: &[u8], epsilon: f64, delta: f64, reports: f64, period: f64) -> Limits {
    let name = String::from_utf8_lossy(name).into_owned();
    // The conversions saturate.
    let (reports, period) = (reports as u64, period as u64);
    Limits { name, epsilon, delta, reports, period }
}

/// Keeps a half; its number.
fn keep(half: Half) -> Result<(i32, Vec<u8>)> {
    let number = HALVES.with_borrow_mut(|halves| {
        let free = halves.iter().position(Option::is_none).unwrap_or(halves.len());
        if free == halves.len() {
            halves.push(None);
        }
        halves[free] = Some(half);
        free
    });
    Ok((number as i32, Vec::new()))
}

/// Forgets a half.
#[unsafe(no_mangle)]
extern "C" fn close(half: usize) {
    HALVES.with_borrow_mut(|halves| {
        if let Some(place) = halves.get_mut(half) {
            *place = None;
        }
    });
}

/// See [`crate::Half::set_level`].
#[cfg(not(feature = "sealed"))]
#[unsafe(no_mangle)]
extern "C" fn set_level(half: usize, level: usize) -> i32 {
    answer([], |[]| on(half, |half| half.set_level(level)).map(|()| (0, Vec::new())))
}

/// See [`crate::Half::set_model`].
#[unsafe(no_mangle)]
extern "C" fn set_model(half: usize, model: usize) -> i32 {
    answer([model], |[model]| on(half, |half| half.set_model(model)).map(|()| (0, Vec::new())))
}

/// See [`crate::Half::choose`]: the index, and the saved choice.
#[unsafe(no_mangle)]
extern "C" fn choose(half: usize, context: usize, actions: usize) -> i32 {
    answer([context, actions], |[context, actions]| {
        let (index, choice) = on(half, |half| half.choose(context, actions))?;
        Ok((index as i32, choice))
    })
}

/// See [`crate::Half::report`]: how many bytes of the answer are the ledger; the rest is the report.
#[unsafe(no_mangle)]
extern "C" fn report(half: usize, choice: usize, ledger: usize, seconds: f64, reward: f64) -> i32 {
    answer([choice, ledger], |[choice, ledger]| {
        // The conversion saturates.
        let (mut ledger, report) =
            on(half, |half| half.report(choice, ledger, seconds as u64, reward))?;
        let length = ledger.len() as i32;
        ledger.extend(report);
        Ok((length, ledger))
    })
}

/// See [`crate::Half::status`]: two doubles.
#[unsafe(no_mangle)]
extern "C" fn status(half: usize, ledger: usize, seconds: f64) -> i32 {
    answer([ledger], |[ledger]| {
        let status = on(half, |half| half.status(ledger, seconds as u64))?;
        let numbers = [status.left as f64, status.end as f64].map(f64::to_le_bytes);
        Ok((0, numbers.concat()))
    })
}

/// Calls `act` with the parts of the input, and keeps what it says.
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
        false => Err(Error::invalid("input", "too short", "write all arguments first")),
    };
    let (code, bytes) = result.unwrap_or_else(|error| (-1, error.to_string().into_bytes()));
    wipe(&mut input);
    wipe(&mut OUTPUT.replace(bytes));
    code
}

/// Writes over what a person's data may stand in.
fn wipe(bytes: &mut [u8]) {
    bytes.fill(0);
    // Otherwise a compiler may leave out what nobody reads.
    std::hint::black_box(bytes);
}

fn on<T>(half: usize, act: impl FnOnce(&mut Half) -> Result<T>) -> Result<T> {
    HALVES.with_borrow_mut(|halves| match halves.get_mut(half).and_then(Option::as_mut) {
        Some(half) => act(half),
        None => Err(Error::invalid("person", "closed", "make a new one from the protocol")),
    })
}
