//! Starting, serving and stopping, and errors of the configuration.

use std::collections::BTreeSet;
use std::fs::OpenOptions;
use std::net::TcpListener;
use std::path::Path;
use std::process::{Command, Output, Stdio};

use allod_testkit::server::Server;

fn allod(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_allod"));
    command.args(arguments).env_clear().stdin(Stdio::null());
    command
}

fn run(arguments: &[&str]) -> Output {
    allod(arguments).output().unwrap()
}

fn start(data: &Path, more: &[&str]) -> Server {
    let data = data.to_str().unwrap();
    let mut command = allod(&["serve", "--listen", "127.0.0.1:0", "--data", data]);
    command.args(more);
    Server::of(command)
}

#[test]
fn claims_survive_a_stop_and_a_kill() {
    let data = tempfile::tempdir().unwrap();
    let server = start(data.path(), &[]);
    let reply = server.put("/v1/pools/p", r#"{"kind":"id32","ranges":["5-9"]}"#);
    assert_eq!(reply.status, 201, "{}", reply.text());
    let reply = server.put("/v1/pools/p/claims/a", "{}");
    assert!(reply.text().contains("\"value\":5,"), "{reply:?}");
    let header = |name| reply.header(name).is_some();
    assert!(header("allod-position") && header("allod-hash"), "{reply:?}");
    let (code, said) = server.stop();
    assert_eq!(code, Some(0), "{said}");

    let server = start(data.path(), &["--log-format", "json"]);
    assert!(server.get("/v1/pools/p/claims/a").text().contains("\"value\":5,"));
    assert!(server.put("/v1/pools/p/claims/b", "{}").text().contains("\"value\":6,"));
    server.kill();

    let server = start(data.path(), &[]);
    assert!(server.get("/v1/pools/p/claims/b").text().contains("\"value\":6,"));
    server.signal("INT");
    assert_eq!(server.wait().0, Some(0));

    let folder = data.path().to_str().unwrap();
    let verified = run(&["journal", "verify", "--data", folder, "--output", "json"]);
    assert!(verified.status.success(), "{verified:?}");
    let text = String::from_utf8(verified.stdout).unwrap();
    assert!(text.contains("\"pools\":1,") && text.contains("\"violations\":[]"), "{text}");
}

#[test]
fn a_second_server_on_the_same_folder_is_refused() {
    let data = tempfile::tempdir().unwrap();
    let first = start(data.path(), &[]);
    let folder = data.path().to_str().unwrap();
    let second = run(&["serve", "--listen", "127.0.0.1:0", "--data", folder]);
    assert_eq!(second.status.code(), Some(1));
    let said = String::from_utf8(second.stderr).unwrap();
    assert!(said.contains("in use by another process"), "{said}");
    assert_eq!(run(&["journal", "verify", "--data", folder]).status.code(), Some(1));
    assert!(first.get("/healthz").text().ends_with("ok\n"));
    assert_eq!(first.stop().0, Some(0));
}

#[test]
fn invalid_arguments_end_the_start_with_code_2() {
    let folder = tempfile::tempdir().unwrap();
    let config = folder.path().join("allod.toml");
    std::fs::write(&config, "lisen = 1\n").unwrap();
    let data = folder.path().join("data");
    let (config, data) = (config.to_str().unwrap(), data.to_str().unwrap());
    for (arguments, words) in [
        (&["serve", "--data", data, "--listen", "0.0.0.0:0"][..], "listen on 127.0.0.1"),
        (&["serve", "--data", data, "--config", config], "unknown keys: lisen"),
        (&["serve", "--data", data, "--config", "/nowhere.toml"], "cannot read the configuration"),
        (&["serve", "--data", data, "--log", "=="], "--log '==' is invalid"),
        (&["serve", "--data", data, "--limit", "keys=1"], "unknown limits: keys"),
        (
            &["serve", "--data", data, "--listen", "0.0.0.0:1", "--auth", "none"],
            "or use --auth tokens",
        ),
        (&["serve", "--data", data, "--auth", "magic"], "possible values: none, tokens"),
        (&["serve", "--date", data], "unexpected argument"),
        (&["journal", "verify", "--data", data], "there is no folder"),
    ] {
        let output = run(arguments);
        let said = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(2), "{arguments:?}: {said}");
        assert!(said.contains(words), "{arguments:?}: {said}");
    }
    assert!(!Path::new(data).exists());
}

#[test]
fn limits_and_log_settings_come_from_flags_environment_and_file() {
    let data = tempfile::tempdir().unwrap();
    let config = data.path().join("allod.toml");
    std::fs::write(&config, "log = \"info,allod::access=debug\"\n[limits]\nkey_bytes_max = 3\n")
        .unwrap();
    let more = ["--config", config.to_str().unwrap(), "--limit", "body_bytes_max=100"];
    let server = start(&data.path().join("data"), &more);
    server.put("/v1/pools/p", r#"{"kind":"id32","ranges":["5-9"]}"#);
    let reply = server.put("/v1/pools/p/claims/long", "{}");
    assert!(reply.status == 422 && reply.text().contains("key_bytes_max is 3"), "{reply:?}");
    let reply = server.put("/v1/pools/p/claims/a", &" ".repeat(200));
    assert_eq!(reply.status, 413, "{}", reply.text());
    let limits = server.get("/v1/limits").text();
    assert!(limits.contains("\"key_bytes_max\":3,") && limits.contains("\"body_bytes_max\":100,"));
    let (code, said) = server.stop();
    assert_eq!(code, Some(0));
    assert!(said.contains("allod::access") && said.contains("status=422"), "{said}");
}

/// A full disk loses only the log.
#[test]
fn a_server_continues_if_stderr_cannot_be_written() {
    let folder = tempfile::tempdir().unwrap();
    let free = TcpListener::bind("127.0.0.1:0").and_then(|free| free.local_addr()).unwrap();
    let (data, listen) = (folder.path().join("data"), free.to_string());
    let full = OpenOptions::new().write(true).open("/dev/full").unwrap();
    // Requests are logged by other threads.
    let log = ["--log", "debug", "--limit", "checkpoint_bytes=1000"];
    let mut command = allod(&["serve", "--listen", &listen, "--data", data.to_str().unwrap()]);
    command.args(log).stderr(full);
    let server = Server::unheard(command, free);
    assert_eq!(server.put("/v1/pools/p", r#"{"kind":"id32","ranges":["0-99"]}"#).status, 201);
    for key in 0..50 {
        let reply = server.put(&format!("/v1/pools/p/claims/{key}"), "{}");
        assert!(reply.text().contains(&format!("\"value\":{key},")), "{reply:?}");
    }
    assert_eq!(server.stop().0, Some(0));
}

#[test]
fn a_server_asks_for_no_huge_pages() {
    let data = tempfile::tempdir().unwrap();
    let server = start(data.path(), &[]);
    let mappings = std::fs::read_to_string(format!("/proc/{}/smaps", server.pid())).unwrap();
    let flags: Vec<&str> = mappings.lines().filter(|line| line.starts_with("VmFlags:")).collect();
    assert!(!flags.is_empty());
    let advised = flags.iter().filter(|line| line.split(' ').any(|flag| flag == "hg"));
    assert_eq!(advised.count(), 0, "{mappings}");
}

#[test]
fn the_guide_lists_all_exported_metrics() {
    let data = tempfile::tempdir().unwrap();
    let server = start(data.path(), &[]);
    let exported = server.get("/metrics").text();
    let exported: BTreeSet<&str> = exported
        .lines()
        .filter_map(|line| line.strip_prefix("# TYPE ")?.split(' ').next())
        .collect();
    let guide = include_str!("../../../../docs/guides/operating.md");
    let metrics = guide.split("\n## ").find(|part| part.starts_with("Metrics\n")).unwrap();
    let rows = metrics.lines().filter_map(|line| line.strip_prefix("| `")?.split('`').next());
    assert_eq!(rows.collect::<BTreeSet<&str>>(), exported);
    assert_eq!(server.stop().0, Some(0));
}

#[test]
fn each_interface_has_its_own_error_format() {
    let data = tempfile::tempdir().unwrap();
    let server = start(data.path(), &[]);
    let uuid = "11111111-1111-4111-8111-111111111111";
    let body = format!(r#"{{"name":"one","uuid":"{uuid}"}}"#);
    let created = server.client().send("POST", "/placement/resource_providers", &[], Some(&body));
    let created = created.unwrap();
    assert_eq!(created.status, 201, "{}", created.text());
    let location = created.header("location").unwrap();
    let address = format!("http://{}/placement/resource_providers/{uuid}", server.address);
    assert_eq!(location, address);
    server.kill();

    let server = start(data.path(), &["--auth", "noauth2"]);
    let shown = server.get(&format!("/resource_providers/{uuid}"));
    assert!(shown.status == 401 && shown.text().contains("401 Unauthorized"), "{shown:?}");
    let token = [("x-auth-token", "admin")];
    let ask = |path: &str| server.client().send("GET", path, &token, None).unwrap();
    let shown = ask(&format!("/resource_providers/{uuid}"));
    assert!(shown.text().contains("\"name\":\"one\""), "{shown:?}");
    assert!(ask("/nothing").text().starts_with("{\"errors\":["));
    for (path, code) in [("/v1/nothing", "route_unknown"), ("/healthz/x", "route_unknown")] {
        let reply = ask(path);
        assert!(reply.status == 404 && reply.text().contains(code), "{path}: {reply:?}");
    }
    assert!(server.get("/").text().starts_with("{\"versions\":["));
}
