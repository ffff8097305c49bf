//! The program `reticent-server` as a process: checks before anything is served, and the work of an operator.

use std::{
    io::{BufRead, BufReader},
    path::PathBuf,
    process::{Child, Command, Output, Stdio},
};

const LOOPS: &str = r#"
    [loop.home]
    privacy = { epsilon = 1.0, delta = 1e-6, visits = 10, per = "30 days" }
    [loop.home.action]
    topic = { categories = ["news", "sport"] }
    [loop.search]
    privacy = { epsilon = 1.0, delta = 1e-6 }
    [loop.search.action]
    topic = { categories = ["news", "sport"] }
"#;

fn reticent_server(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_reticent-server")).args(arguments).output().unwrap()
}

fn file(name: &str, text: &str) -> PathBuf {
    let path = std::env::temp_dir().join(format!("reticent-serve-{}-{name}", std::process::id()));
    std::fs::write(&path, text).unwrap();
    path
}

fn refused(arguments: &[&str], words: &[&str]) {
    let output = reticent_server(arguments);
    let error = String::from_utf8_lossy(&output.stderr).to_string();
    assert_eq!(output.status.code(), Some(2), "{error}");
    assert!(output.stdout.is_empty());
    assert!(words.iter().all(|word| error.contains(word)), "{error}");
}

#[test]
fn a_check_prints_every_loops_certificate_and_serves_nothing() {
    let config = file("check.toml", LOOPS);
    let config = config.to_str().unwrap();
    let output = reticent_server(&["serve", "--config", config, "--check"]);
    let text = String::from_utf8(output.stdout).unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
    for words in [
        "loop home",
        "loop search",
        "[enforced]",
        "[assumed]",
        "12 periods",
        "  a year: epsilon ",
        "outlook",
        "storage: hashes of releases grow by",
        "the newest 1000 models (`keep_models`) take at most",
        "search: protects decisions",
    ] {
        assert!(text.contains(words), "{words}: {text}");
    }
    let delta = text
        .lines()
        .filter(|line| line.contains(" period"))
        .all(|line| line.ends_with("at delta 1e-6") || !line.contains(": epsilon "));
    assert!(delta, "{text}");
    // With a hold-out the vector has a constant more than the features, as the loop's page says.
    let compared = file(
        "compared.toml",
        &LOOPS.replacen(
            "[loop.home.action]",
            "baseline = { share = 0.05 }\n    [loop.home.action]",
            1,
        ),
    );
    let output = reticent_server(&["serve", "--config", compared.to_str().unwrap(), "--check"]);
    let with_baseline = String::from_utf8(output.stdout).unwrap();
    assert!(
        text.contains("loop home: 3 coordinates")
            && with_baseline.contains("loop home: 4 coordinates"),
        "{text}{with_baseline}"
    );
    let output = reticent_server(&["--json", "serve", "--config", config, "--check"]);
    let json: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(json["loops"][0]["certificate"]["name"], "home");
    let epsilon = json["loops"][0]["certificate"]["periods"][0]["epsilon"].as_f64().unwrap();
    assert!(epsilon > 0.9 && epsilon <= 1.0, "{epsilon}");
    // Whether it can work: ten visits of a person need more noise than one decision.
    let needed = [0, 1].map(|index| {
        let outlook = &json["loops"][index]["outlook"];
        assert_eq!(outlook["forget"], "90 days");
        let visits = outlook["useful_from"].as_u64().unwrap();
        let about = reticent_loops::config::rounded(visits);
        assert!(text.contains(&format!("outlook: about {about} visits")), "{about}: {text}");
        assert!(outlook["parts"][0]["useful_from"].as_u64().is_some(), "{outlook}");
        visits
    });
    assert!(needed[0] > 5 * needed[1] && needed[1] > 10, "{needed:?}");
}

#[test]
fn loops_of_devices_are_checked_and_certified_with_what_enforces_each_condition() {
    let config = file(
        "devices.toml",
        r#"
        [loop.news]
        trust = "device"
        privacy = { epsilon = 2.0, delta = 1e-6, visits = 3, per = "30 days" }
        [loop.news.action]
        topic = { categories = ["news", "sport"] }
        [loop.mixed]
        trust = "shuffler"
        privacy = { epsilon = 1.0, delta = 1e-6, visits = 2, per = "ever" }
        shuffle = { batch = 1000, mode = "sum" }
        [loop.mixed.action]
        topic = { categories = ["news", "sport"] }
        "#,
    );
    let config = config.to_str().unwrap();
    let output = reticent_server(&["serve", "--check", "--config", config]);
    let text = String::from_utf8(output.stdout).unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
    for words in [
        "loop news",
        "at most 3 reports of one installation leave it in each period of 30 days",
        "one installation's storage",
        "loop mixed",
        "batches have 1000 reports, and none smaller leaves the shuffler",
        "at least 500 of the 1000 reports",
        "the shuffler sees every report",
        "reports until a predicted reward is more than noise",
        "all loops together",
    ] {
        assert!(text.contains(words), "{words}: {text}");
    }
}

#[test]
fn people_s_data_do_not_cross_a_network_in_the_clear() {
    let config = file("clear.toml", LOOPS);
    let config = config.to_str().unwrap();
    let open = ["serve", "--config", config, "--check", "--listen", "0.0.0.0:8080"];
    refused(&open, &["listen: got 0.0.0.0:8080", "--behind-proxy"]);
    let proxied = reticent_server(&[&open[..], &["--behind-proxy"]].concat());
    assert_eq!(proxied.status.code(), Some(0));
    let tls = ["--tls-certificate", "no.pem", "--tls-key", "no.pem"];
    refused(&[&open[..], &tls].concat(), &["tls-certificate: got no.pem"]);
    refused(&[&open[..], &tls[..2]].concat(), &["--tls-key"]);
}

#[test]
fn help_shows_an_example_everywhere() {
    for arguments in [
        &["--help"][..],
        &["serve", "--help"],
        &["shuffle", "--help"],
        &["key", "--help"],
        &["store", "--help"],
        &["store", "copy", "--help"],
    ] {
        let help = String::from_utf8(reticent_server(arguments).stdout).unwrap();
        assert!(help.contains("Example: reticent-server"), "{arguments:?}: {help}");
    }
}

/// Both may run on one machine without being given an address.
#[test]
fn a_service_and_a_shuffler_listen_on_ports_of_their_own() {
    for (command, port) in [("serve", "127.0.0.1:8080"), ("shuffle", "127.0.0.1:8090")] {
        let help = String::from_utf8(reticent_server(&[command, "--help"]).stdout).unwrap();
        for words in [
            &format!("[default: {port}]"),
            "--tls-certificate <PEM>",
            "--behind-proxy",
            "--connections-per-address <NUMBER>",
        ] {
            assert!(help.contains(words), "{command}, {words}: {help}");
        }
    }
    let none = ["serve", "--demo", "--connections-per-address", "0"];
    refused(&none, &["--connections-per-address", "0 is not in 1.."]);
}

#[test]
fn bad_files_and_roles_are_refused_by_field() {
    let config = file("bad.toml", &LOOPS.replace("visits = 10", "visits = 0"));
    let config = config.to_str().unwrap();
    refused(
        &["serve", "--config", config, "--check"],
        &["bad.toml", "loop.home.privacy.visits: got 0"],
    );
    refused(&["serve", "--config", "nowhere.toml", "--check"], &["nowhere.toml"]);
    refused(&["serve", "--config", config], &["--data"]);
    refused(&["key", "new", "--data", "d", "--role", "owner"], &["decide"]);
    let named = ["serve", "--config", config, "--check", "--listen", "localhost:8080"];
    refused(&named, &["127.0.0.1:8080", "no name"]);
    for date in ["2026-13-40", "2026-02-29", "26-1-1", "2026-11-1x"] {
        let accept = ["store", "accept-time", "--data", "d", "--date", date];
        refused(&accept, &[date, "YYYY-MM-DD"]);
    }
    let learner = "[loop.home]\nlearner = { forget = \"90 days\", tick = \"365 days\" }";
    let short = file("short.toml", &LOOPS.replace("[loop.home]", learner));
    let short = ["serve", "--config", short.to_str().unwrap(), "--check"];
    refused(&short, &["loop.home.learner.forget: got 90 days", "365 days"]);
    let key = file("shuffle.key", "rt_0_0");
    let (key, roots) = (key.to_str().unwrap(), ["--server-roots", "roots.pem"]);
    let devices = file(
        "mixed.toml",
        "[loop.mixed]\ntrust = \"shuffler\"\nprivacy = { epsilon = 4.0, delta = 1e-3, visits = 1, per = \"ever\" }\nshuffle = { batch = 100 }\n[loop.mixed.action]\nx = { range = [0, 1] }",
    );
    let shuffle = ["shuffle", "--config", devices.to_str().unwrap(), "--data", "d"];
    let server = ["--server", "http://127.0.0.1:1", "--key-file", key];
    refused(&[&shuffle[..], &server, &roots].concat(), &["http:// uses none", "https://"]);
}

#[test]
fn what_is_probably_not_meant_is_warned_of() {
    let loud = file(
        "loud.toml",
        "[loop.home]\nprivacy = { epsilon = 25.0, delta = 1e-6 }\nlearner = { horizon = 100 }\ncontext = { age = { range = [18, 80] } }",
    );
    let output = reticent_server(&["serve", "--config", loud.to_str().unwrap(), "--check"]);
    let error = String::from_utf8_lossy(&output.stderr).to_string();
    assert_eq!(output.status.code(), Some(0), "{error}");
    assert!(
        error.contains("no features of their own") && error.contains("next to nothing"),
        "{error}"
    );
}

/// Printed figures are never better than the truth, and the same everywhere.
#[test]
fn a_check_rounds_as_the_certificate_does() {
    let config = file("round.toml", LOOPS);
    let config = config.to_str().unwrap();
    let json = reticent_server(&["--json", "serve", "--config", config, "--check"]).stdout;
    let json: serde_json::Value = serde_json::from_slice(&json).unwrap();
    let text = String::from_utf8(reticent_server(&["serve", "--config", config, "--check"]).stdout)
        .unwrap();
    for each in json["loops"].as_array().unwrap() {
        let odds = 100.0 * each["certificate"]["best_guess"].as_f64().unwrap();
        let printed = format!("{:.1} %", (odds * 10.0).ceil() / 10.0);
        assert!(text.contains(&printed), "{odds}: {text}");
    }
    for period in json["loops"][0]["certificate"]["periods"].as_array().unwrap() {
        let epsilon = period["epsilon"].as_f64().unwrap();
        let printed = format!("epsilon {:.2}", (epsilon * 100.0 - 1e-7).ceil() / 100.0);
        assert!(text.contains(&printed), "{printed}: {text}");
    }
    assert!(text.contains("  1 period: ") && text.contains("for one decision"), "{text}");
}

#[test]
fn the_page_about_the_service_prints_the_loop_of_the_example() {
    let example = include_str!("../../../examples/loops.toml");
    let (_, example) = example.split_once("\n\n").unwrap();
    assert!(include_str!("../../../docs/reference/service.md").contains(example.trim_end()));
}

/// A service that runs, and is ended when it is dropped.
struct Running(Child);

impl Running {
    fn start(config: &str, data: &str) -> Self {
        let mut child = Command::new(env!("CARGO_BIN_EXE_reticent-server"))
            .args(["serve", "--config", config, "--data", data, "--listen", "127.0.0.1:0"])
            .stderr(Stdio::piped())
            .stdout(Stdio::null())
            .spawn()
            .unwrap();
        let mut errors = BufReader::new(child.stderr.take().unwrap());
        let mut line = String::new();
        while !line.starts_with("serving") {
            line.clear();
            assert!(errors.read_line(&mut line).unwrap() > 0, "it ended before it served");
        }
        // A later writer must have a reader.
        std::thread::spawn(move || std::io::copy(&mut errors, &mut std::io::sink()));
        Running(child)
    }

    /// Asks it to stop, and returns its exit code.
    fn stop(mut self) -> Option<i32> {
        let id = self.0.id().to_string();
        assert!(Command::new("kill").args(["-TERM", &id]).status().unwrap().success());
        self.0.wait().unwrap().code()
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Effect of a file on the store of a service that runs, and on that of one that does not: the check changes nothing.
#[test]
#[cfg(unix)]
fn a_check_with_data_says_what_begins_anew() {
    let config = file("before.toml", LOOPS);
    let config = config.to_str().unwrap();
    let changed = file("after.toml", &LOOPS.replacen("epsilon = 1.0", "epsilon = 2.0", 1));
    let changed = changed.to_str().unwrap();
    let longer = file("longer.toml", &LOOPS.replacen("\"sport\"", "\"sport\", \"jazz\"", 1));
    let longer = longer.to_str().unwrap();
    let folder = std::env::temp_dir().join(format!("reticent-outcome-{}", std::process::id()));
    let _ = std::fs::remove_dir_all(&folder);
    let data = folder.display().to_string();
    let said = |config: &str| {
        let output = reticent_server(&["serve", "--config", config, "--check", "--data", &data]);
        assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap()
    };
    assert!(said(config).contains("loop home begins its first generation: epsilon 1.00"));
    assert!(!folder.exists(), "a check makes nothing");
    let service = Running::start(config, &data);
    let expect = || {
        assert!(said(config).contains("loop home continues its generation: epsilon stays 1.00"));
        let notice = said(changed);
        let anew = "loop home begins a new generation without knowledge (changed: privacy): epsilon of all its generations 1.00 before, 2.00 after";
        assert!(notice.contains(anew), "{notice}");
        assert!(notice.contains("loop search continues its generation"), "{notice}");
        let notice = said(longer);
        let words = "loop home continues its generation and keeps its model (appended: action.topic=jazz): epsilon stays 1.00";
        assert!(notice.contains(words), "{notice}");
    };
    expect();
    assert_eq!(service.stop(), Some(0));
    expect();
    std::fs::remove_dir_all(&folder).unwrap();
}

#[test]
#[cfg(unix)]
fn an_operator_looks_after_a_service_while_it_runs_and_while_it_does_not() {
    let loops = LOOPS
        .replace("[loop.home]", "[loop.home]\nlearner = { tick = \"1 second\", horizon = 1000 }");
    let config = file("operate.toml", &loops);
    let config = config.to_str().unwrap();
    let folder = std::env::temp_dir().join(format!("reticent-operate-{}", std::process::id()));
    let _ = std::fs::remove_dir_all(&folder);
    let place = |name: &str| folder.join(name).display().to_string();
    let data = place("data");
    let text = |arguments: &[&str]| {
        let output = reticent_server(arguments);
        let error = String::from_utf8_lossy(&output.stderr).to_string();
        assert_eq!(output.status.code(), Some(0), "{arguments:?}: {error}");
        String::from_utf8(output.stdout).unwrap()
    };
    // A variable that is not set must not begin an empty store in place of a database.
    let empty = ["key", "list", "--data", data.as_str(), "--database", ""];
    refused(&empty, &["--database", "it is empty"]);
    // Nothing is made in a folder that was mistyped.
    refused(&["key", "list", "--data", &data], &["there is no store"]);
    let new = ["key", "new", "--data", data.as_str(), "--role", "admin"];
    refused(&new, &["there is no such folder", "--data"]);
    assert!(!folder.exists());
    let service = Running::start(config, &data);
    // The key alone, on one line.
    let key = text(&["key", "new", "--data", &data, "--loop", "home", "--role", "decide,reward"]);
    assert!(key.starts_with("rt_") && key.split_whitespace().count() == 1, "{key}");
    assert_eq!(key.lines().count(), 1);
    assert!(text(&["key", "list", "--data", &data]).contains("decide,reward"));
    let (copy, second) = (place("copy/store.redb"), place("copy/second.redb"));
    text(&["store", "backup", "--data", &data, "--to", &copy]);
    refused(&["store", "backup", "--data", &data, "--to", &copy], &["does not exist yet"]);
    refused(&["store", "accept-time", "--data", &data, "--date", "2020-01-01"], &["is believed"]);
    let rotate = ["key", "rotate-people", "--data", &data, "--drop-outlived"];
    assert!(text(&rotate).contains("2 keys"));
    // A release comes within seconds, and then the model can be taken along.
    let model = place("model.json");
    let ask = ["store", "model", "--data", &data, "--loop", "home", "--to", &model];
    let found = (0..200).any(|_| {
        std::thread::sleep(std::time::Duration::from_millis(50));
        reticent_server(&ask).status.success()
    });
    assert!(found, "no model within ten seconds");
    refused(&ask, &["model.json", "does not exist yet"]);
    let device = ["key", "new", "--data", &data, "--loop", "home", "--role", "device"];
    refused(&device, &["role: got device", "expected some of decide"]);
    assert_eq!(service.stop(), Some(0));
    text(&["store", "backup", "--data", &data, "--to", &second]);
    // The stored model is written without a service; for the rest the reason is that none runs.
    let stopped = place("stopped.json");
    text(&["store", "model", "--data", &data, "--loop", "home", "--to", &stopped]);
    assert!(std::fs::read_to_string(&stopped).unwrap().contains("reticent model 1"));
    let unknown = ["store", "model", "--data", &data, "--loop", "hoem", "--to", &second];
    refused(&unknown, &["loop: got \"hoem\"; expected one of", "home, search"]);
    for accept in [
        &["store", "accept-rollback", "--data", &data, "--loop", "home", "--head", "1.00"][..],
        &["store", "accept-time", "--data", &data, "--date", "2020-01-01"],
    ] {
        let output = reticent_server(accept);
        let error = String::from_utf8_lossy(&output.stderr).to_string();
        assert_eq!(output.status.code(), Some(1), "{error}");
        for words in ["no service runs", "reticent-server serve --config", "again while it runs"] {
            assert!(error.contains(words), "{error}");
        }
    }
    refused(&["key", "rotate-people", "--data", &place("nowhere")], &["no such file"]);
    assert_eq!(
        reticent_server(&rotate).status.code(),
        Some(1),
        "only a running service knows what is outlived"
    );
    // With the keys of the file, the new one first, everything is known.
    assert_eq!(Running::start(config, &data).stop(), Some(0));
    let warm = loops.replace("[loop.home]", "[loop.home]\nwarm_start = \"model.json\"");
    let warm_file = place("warm.toml");
    std::fs::write(&warm_file, &warm).unwrap();
    let checked = text(&["serve", "--config", &warm_file, "--check"]);
    assert!(
        checked.contains("it began with a model")
            && checked.contains("learning ends with release 1000"),
        "{checked}"
    );
    std::fs::write(&model, "{}").unwrap();
    refused(&["serve", "--config", &warm_file, "--check"], &["loop.home.warm_start", "kind"]);
    std::fs::remove_dir_all(&folder).unwrap();
}

/// As a unit with `Type=notify` is started: by a path, and by a name without a file.
#[test]
#[cfg(target_os = "linux")]
fn systemd_is_notified_when_the_service_answers_and_when_it_stops() {
    use std::os::{
        linux::net::SocketAddrExt,
        unix::net::{SocketAddr, UnixDatagram},
    };
    let config = file("notify.toml", LOOPS);
    let folder = std::env::temp_dir().join(format!("reticent-notify-{}", std::process::id()));
    let _ = std::fs::remove_dir_all(&folder);
    std::fs::create_dir(&folder).unwrap();
    let path = folder.join("socket");
    let name = format!("reticent-notify-{}", std::process::id());
    let abstract_name = SocketAddr::from_abstract_name(&name).unwrap();
    let (data, config) = (folder.join("data"), config.to_str().unwrap().to_string());
    for (socket, named) in [
        (UnixDatagram::bind(&path).unwrap(), path.display().to_string()),
        (UnixDatagram::bind_addr(&abstract_name).unwrap(), format!("@{name}")),
    ] {
        socket.set_read_timeout(Some(std::time::Duration::from_secs(60))).unwrap();
        let notice = || {
            let mut bytes = [0; 64];
            let length = socket.recv(&mut bytes).unwrap();
            String::from_utf8_lossy(&bytes[..length]).to_string()
        };
        let mut command = Command::new(env!("CARGO_BIN_EXE_reticent-server"));
        command.args(["serve", "--config", &config, "--listen", "127.0.0.1:0", "--data"]);
        let command = command.arg(&data).env("NOTIFY_SOCKET", named).stderr(Stdio::null());
        let service = Running(command.stdout(Stdio::null()).spawn().unwrap());
        assert_eq!(notice(), "READY=1");
        assert_eq!(service.stop(), Some(0));
        assert_eq!(notice(), "STOPPING=1");
    }
    std::fs::remove_dir_all(&folder).unwrap();
}
