//! Notifications to systemd about a process that it started with `Type=notify`: that it answers, and that it stops.

/// Tells systemd, if it started this process. That it does not listen is no reason to stop.
#[cfg(unix)]
pub(super) fn tell_systemd(state: &str) {
    let Some(name) = std::env::var_os("NOTIFY_SOCKET") else { return };
    let sent = address(&name).and_then(|address| {
        let socket = std::os::unix::net::UnixDatagram::unbound()?;
        socket.send_to_addr(state.as_bytes(), &address)
    });
    if let Err(error) = sent {
        say!("warning: systemd was not notified of {state}: {error}");
    }
}

#[cfg(not(unix))]
pub(super) fn tell_systemd(_state: &str) {}

/// The address of systemd's socket, which is a path, or with `@` in front a name without a file.
#[cfg(unix)]
fn address(name: &std::ffi::OsStr) -> std::io::Result<std::os::unix::net::SocketAddr> {
    #[cfg(target_os = "linux")]
    {
        use std::os::{linux::net::SocketAddrExt, unix::ffi::OsStrExt};
        if let Some(name) = name.as_bytes().strip_prefix(b"@") {
            return std::os::unix::net::SocketAddr::from_abstract_name(name);
        }
    }
    std::os::unix::net::SocketAddr::from_pathname(name)
}
