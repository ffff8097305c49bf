//! Open connections counted by address, so that one address cannot hold all of them.
//!
//! A connection beyond the limit of its address is closed at once: if it waited, it would hold up the connections of others. An address of IPv6 is its network of
//! 64 bits, which one household has. The counts are in memory and never logged.

use std::{
    collections::HashMap,
    net::{IpAddr, Ipv6Addr},
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
    time::{Duration, Instant},
};

/// Connections that one address may have open at a time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PerAddress {
    /// This number for each address of other machines. Those of this machine have no limit: a proxy may stand there without being declared.
    Others(usize),
    /// This number for each address, this machine and proxies included.
    Every(usize),
    /// No limit: a declared proxy makes all connections, and limits its own clients.
    BehindProxy,
}

impl Default for PerAddress {
    fn default() -> Self {
        PerAddress::Others(512)
    }
}

impl PerAddress {
    /// The limit of this address, if it has one.
    fn of(self, address: IpAddr) -> Option<usize> {
        match self {
            PerAddress::Every(most) => Some(most),
            PerAddress::Others(most) if !address.is_loopback() => Some(most),
            PerAddress::Others(_) | PerAddress::BehindProxy => None,
        }
    }
}

/// Time between two lines of the log about refused connections.
const LOG_EVERY: Duration = Duration::from_secs(60);

/// Open connections of all addresses.
pub(super) struct Addresses {
    limit: PerAddress,
    open: Mutex<HashMap<IpAddr, usize>>,
    refused: AtomicU64,
    logged: Mutex<Option<Instant>>,
}

/// One open connection of an address; dropped, it is closed.
pub(super) struct OpenConnection {
    addresses: Arc<Addresses>,
    network: Option<IpAddr>,
}

impl Addresses {
    pub(super) fn new(limit: PerAddress) -> Arc<Self> {
        let (open, refused, logged) = Default::default();
        Arc::new(Addresses { limit, open, refused, logged })
    }

    /// Counts a connection of this address, unless the address has as many as it may.
    pub(super) fn open(self: &Arc<Self>, address: IpAddr) -> Option<OpenConnection> {
        let address = address.to_canonical();
        let Some(most) = self.limit.of(address) else {
            return Some(OpenConnection { addresses: Arc::clone(self), network: None });
        };
        let network = network(address);
        let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        let count = open.entry(network).or_default();
        if *count >= most {
            drop(open);
            self.refuse(most);
            return None;
        }
        *count += 1;
        Some(OpenConnection { addresses: Arc::clone(self), network: Some(network) })
    }

    /// Logs refusals, once a minute and without addresses.
    fn refuse(&self, most: usize) {
        let refused = self.refused.fetch_add(1, Ordering::Relaxed) + 1;
        let mut logged = self.logged.lock().unwrap_or_else(PoisonError::into_inner);
        if logged.is_none_or(|logged| logged.elapsed() >= LOG_EVERY) {
            *logged = Some(Instant::now());
            tracing::warn!(
                "connections of an address that has {most} open already were closed, {refused} since the start: if it is a proxy, give --behind-proxy; else --connections-per-address raises the limit"
            );
        }
    }
}

impl Drop for OpenConnection {
    fn drop(&mut self) {
        let Some(network) = self.network else { return };
        let mut open = self.addresses.open.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(count) = open.get_mut(&network) {
            *count -= 1;
            if *count == 0 {
                open.remove(&network);
            }
        }
    }
}

/// The address, or the network of 64 bits of one of IPv6.
fn network(address: IpAddr) -> IpAddr {
    match address {
        IpAddr::V4(_) => address,
        IpAddr::V6(address) => {
            let host = u128::from(u64::MAX);
            IpAddr::V6(Ipv6Addr::from_bits(address.to_bits() & !host))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn address(text: &str) -> IpAddr {
        text.parse().unwrap()
    }

    #[test]
    fn an_address_has_a_limit_of_connections_and_others_are_not_touched() {
        let addresses = Addresses::new(PerAddress::Others(2));
        let one = address("192.0.2.1");
        let first = addresses.open(one).unwrap();
        let mapped = addresses.open(address("::ffff:192.0.2.1")).unwrap();
        assert!(addresses.open(one).is_none());
        let other = addresses.open(address("192.0.2.2")).unwrap();
        drop(first);
        let again = addresses.open(one).unwrap();
        assert!(addresses.open(one).is_none());
        drop((mapped, other, again));
        assert!(addresses.open.lock().unwrap().is_empty(), "closed ones are forgotten");
    }

    #[test]
    fn one_network_of_ipv6_is_one_address() {
        let addresses = Addresses::new(PerAddress::Others(1));
        let held = addresses.open(address("2001:db8:1:2::1")).unwrap();
        assert!(addresses.open(address("2001:db8:1:2:ffff::9")).is_none());
        assert!(addresses.open(address("2001:db8:1:3::1")).is_some());
        drop(held);
    }

    #[test]
    fn a_proxy_is_not_limited() {
        let opened = |limit, text: &str| {
            let addresses = Addresses::new(limit);
            let held: Vec<_> = (0..50).map_while(|_| addresses.open(address(text))).collect();
            held.len()
        };
        assert_eq!(opened(PerAddress::Others(2), "127.0.0.1"), 50, "an undeclared one, here");
        assert_eq!(opened(PerAddress::Others(2), "::1"), 50);
        assert_eq!(opened(PerAddress::BehindProxy, "192.0.2.1"), 50, "a declared one, elsewhere");
        assert_eq!(opened(PerAddress::Every(2), "127.0.0.1"), 2, "the given limit holds");
        assert_eq!(PerAddress::default(), PerAddress::Others(512));
    }
}
