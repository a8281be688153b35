//! Tokens and certificates: created, used, changed while the server runs, and refused if invalid.

mod server;

use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, IsCa, KeyPair};
use server::{Server, allod, ask, eventually, run};
use tokio_rustls::rustls::pki_types::CertificateDer;

/// A certificate authority.
struct Authority(CertifiedIssuer<'static, KeyPair>);

impl Authority {
    fn new() -> Authority {
        let mut params = CertificateParams::new(Vec::new()).unwrap();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        Authority(CertifiedIssuer::self_signed(params, KeyPair::generate().unwrap()).unwrap())
    }

    fn der(&self) -> &CertificateDer<'static> {
        self.0.der()
    }

    /// Writes a new certificate for `localhost` and its key.
    fn sign(&self, folder: &Path) {
        let key = KeyPair::generate().unwrap();
        let params = CertificateParams::new(vec!["localhost".to_owned()]).unwrap();
        let certificate = params.signed_by(&key, &self.0).unwrap();
        for (name, text) in [("cert.pem", certificate.pem()), ("key.pem", key.serialize_pem())] {
            std::fs::write(folder.join(name), text).unwrap();
        }
        let private = PermissionsExt::from_mode(0o600);
        std::fs::set_permissions(folder.join("key.pem"), private).unwrap();
    }
}

/// Creates a token and appends it to the file.
fn new_token(file: &str, name: &str, role: &str, more: &[&str]) -> String {
    let arguments = ["token", "new", "--file", file, "--name", name, "--role", role];
    let made = allod(&arguments).args(more).output().unwrap();
    assert!(made.status.success(), "{made:?}");
    // stdout has only the token.
    let token = String::from_utf8(made.stdout).unwrap();
    assert_eq!(token.trim().len(), 70, "{token}");
    token.trim().to_owned()
}

const POOL: &str = r#"{"kind":"id32","ranges":["1-9"]}"#;

#[test]
fn tokens_are_added_and_removed_while_the_server_runs() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("tokens.toml");
    let file = file.to_str().unwrap();
    let admin = new_token(file, "admin", "admin", &[]);
    let tenant = new_token(file, "tenant", "writer", &["--pools", "tenant-a/"]);
    let over = new_token(file, "over", "admin", &["--expires", "2020-01-01T00:00:00Z"]);
    assert_eq!(std::fs::metadata(file).unwrap().permissions().mode() & 0o777, 0o600);
    let server =
        Server::start(&folder.path().join("data"), &["--auth", "tokens", "--tokens", file]);
    assert_eq!(server.scheme(), "http");
    let status = |method: &str, path: &str, token: &str, body: &str| -> u16 {
        let reply = ask(&mut server.connect(), method, path, token, body);
        reply.split(' ').nth(1).and_then(|code| code.parse().ok()).expect(&reply)
    };
    eventually("ready", || status("GET", "/readyz", "", "") == 200);
    assert_eq!(status("GET", "/healthz", "", ""), 200);
    assert_eq!(status("GET", "/metrics", "", ""), 401);
    assert_eq!(status("PUT", "/v1/pools/tenant-a%2Fp", &admin, POOL), 201);
    assert_eq!(status("PUT", "/v1/pools/other", &admin, POOL), 201);
    assert_eq!(status("PUT", "/v1/pools/tenant-a%2Fp/claims/k", &tenant, "{}"), 201);
    assert_eq!(status("PUT", "/v1/pools/other/claims/k", &tenant, "{}"), 403);
    assert_eq!(status("GET", "/v1/pools/other", &over, ""), 401);

    // The server reloads the file without a signal.
    let late = new_token(file, "late", "reader", &[]);
    eventually("the new token works", || status("GET", "/v1/limits", &late, "") == 200);
    let first = std::fs::read_to_string(file).unwrap();

    // An invalid file changes nothing and is logged.
    std::fs::write(file, "[[token]]\nname = ").unwrap();
    server.signal("HUP");
    // Logged once or twice: on the change of the file, and on SIGHUP.
    let none = "allod_reloads_total{what=\"tokens\",outcome=\"failed\"} 0";
    eventually("the failure is counted", || {
        let metrics = ask(&mut server.connect(), "GET", "/metrics", &late, "");
        metrics.contains(&none[..none.len() - 1]) && !metrics.contains(none)
    });
    assert_eq!(status("GET", "/v1/limits", &admin, ""), 200);

    // One token is removed; the others stay.
    let without = first.split("\n\n").filter(|table| !table.contains("\"admin\"\nrole"));
    std::fs::write(file, without.collect::<Vec<_>>().join("\n\n")).unwrap();
    server.signal("HUP");
    eventually("the token is gone", || status("GET", "/v1/limits", &admin, "") == 401);
    assert_eq!(status("GET", "/v1/limits", &late, ""), 200);

    let said = server.stop();
    for secret in [&admin, &tenant, &over, &late] {
        assert!(!said.contains(secret.as_str()) && !said.contains(&secret[6..]), "{said}");
        assert!(!std::fs::read_to_string(file).unwrap().contains(secret.as_str()));
    }
    assert!(said.contains("token=\"tenant\" role=\"writer\""), "{said}");
    assert!(said.contains("reload failed; the previous contents stay in force"), "{said}");
    assert!(said.contains("line 2"), "{said}");
}

#[test]
fn a_changed_certificate_is_used_without_a_restart() {
    let folder = tempfile::tempdir().unwrap();
    let authority = Authority::new();
    authority.sign(folder.path());
    let path = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    let (cert, key, file) = (path("cert.pem"), path("key.pem"), path("tokens.toml"));
    let reader = new_token(&file, "reader", "reader", &[]);
    let flags = ["--tls-cert", &cert, "--tls-key", &key, "--auth", "tokens", "--tokens", &file];
    let server = Server::start(&folder.path().join("data"), &flags);
    assert_eq!(server.scheme(), "https");
    let shown = || {
        let mut stream = server.connect_tls(authority.der());
        let reply = ask(&mut stream, "GET", "/v1/limits", &reader, "");
        assert!(reply.starts_with("HTTP/1.1 200 "), "{reply}");
        stream.conn.peer_certificates().unwrap()[0].to_vec()
    };
    let first = shown();
    let reply = ask(&mut server.connect_tls(authority.der()), "GET", "/v1/limits", "", "");
    assert!(reply.starts_with("HTTP/1.1 401 "), "{reply}");
    let reply = ask(&mut server.connect(), "GET", "/v1/limits", &reader, "");
    assert!(reply.starts_with("HTTP/1.1 400 ") && reply.contains("tls_required"), "{reply}");

    authority.sign(folder.path());
    eventually("the new certificate is shown", || shown() != first);
    let said = server.stop();
    assert!(said.contains("reloaded"), "{said}");
}

#[test]
fn invalid_security_settings_end_the_start_with_code_2() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    let data = path("data");
    Authority::new().sign(folder.path());
    let (cert, key) = (path("cert.pem"), path("key.pem"));
    let (good, broken, open) = (path("good.toml"), path("broken.toml"), path("open.toml"));
    new_token(&good, "a", "reader", &[]);
    std::fs::write(&broken, "[[token]]\nname = \"a\"\n").unwrap();
    std::fs::write(&open, "").unwrap();
    std::fs::set_permissions(&open, PermissionsExt::from_mode(0o666)).unwrap();
    for (flags, words) in [
        (
            &["--auth", "none", "--listen", "0.0.0.0:1"][..],
            "with --auth none, because every client",
        ),
        (
            &["--auth", "noauth2", "--listen", "0.0.0.0:1"],
            "with --auth noauth2, because every client",
        ),
        (&["--auth", "tokens"], "--auth tokens needs --tokens FILE"),
        (&["--tokens", &good], "--tokens needs --auth tokens"),
        (&["--auth", "tokens", "--tokens", ""], "expected the name of a file"),
        (&["--auth", "tokens", "--tokens", "/nowhere"], "cannot read /nowhere"),
        (&["--auth", "tokens", "--tokens", &broken], "token 1 'a': role is missing"),
        (&["--auth", "tokens", "--tokens", &open], "all users of this machine can write to it"),
        (&["--tls-cert", &cert], "--tls-cert needs --tls-key"),
        (&["--tls-key", &key], "--tls-key needs --tls-cert"),
        (&["--tls-cert", &key, "--tls-key", &key], "has no certificate in PEM form"),
        (&["--tls-cert", &cert, "--tls-key", &cert], "has no private key in PEM form"),
        (&["--tls-cert", "/nowhere", "--tls-key", &key], "TLS: cannot read /nowhere"),
    ] {
        let refused = allod(&["serve", "--data", &data]).args(flags).output().unwrap();
        let said = String::from_utf8(refused.stderr).unwrap();
        assert_eq!(refused.status.code(), Some(2), "{flags:?}: {said}");
        assert!(said.contains(words) && !said.contains("listening"), "{flags:?}: {said}");
    }
    assert!(!Path::new(&data).exists());
}

#[test]
fn tokens_are_listed_without_hashes_and_created_without_a_file() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("tokens.toml");
    let file = file.to_str().unwrap();
    new_token(file, "ci", "writer", &["--pools", "a/", "--expires", "2020-01-01T00:00:00Z"]);
    new_token(file, "everything", "admin", &[]);
    let listed = run(&["token", "list", "--file", file]);
    assert_eq!(
        String::from_utf8(listed.stdout).unwrap(),
        "NAME        ROLE    POOLS  EXPIRES\n\
         ci          writer  a/     2020-01-01T00:00:00Z (expired)\n\
         everything  admin   (all)  never\n"
    );
    let listed = run(&["token", "list", "--file", file, "--output", "json"]);
    assert_eq!(
        String::from_utf8(listed.stdout).unwrap(),
        "[{\"expired\":true,\"expires\":\"2020-01-01T00:00:00Z\",\"name\":\"ci\",\"pools\":\"a/\",\"role\":\"writer\"},\
         {\"expired\":false,\"expires\":null,\"name\":\"everything\",\"pools\":null,\"role\":\"admin\"}]\n"
    );
    let again = run(&["token", "new", "--file", file, "--name", "ci", "--role", "reader"]);
    assert_eq!(again.status.code(), Some(1));
    assert!(again.stdout.is_empty(), "a token that is not in the file is not shown");
    // The printed entry can be appended to the file.
    let made = run(&["token", "new", "--name", "by hand", "--role", "reader"]);
    let table = String::from_utf8(made.stderr).unwrap();
    let text = std::fs::read_to_string(file).unwrap();
    std::fs::write(file, format!("{text}\n{table}")).unwrap();
    let listed = run(&["token", "list", "--file", file]);
    assert!(String::from_utf8(listed.stdout).unwrap().contains("by hand"));
    for (more, words) in [
        (&["--name", "", "--role", "reader"][..], "name is empty"),
        (&["--name", "x", "--role", "king"], "unknown role 'king'"),
        (&["--name", "x", "--role", "reader", "--pools", ""], "pools is empty"),
        (&["--name", "x", "--role", "reader", "--expires", "soon"], "such as 2027-01-01T00:00:00Z"),
    ] {
        let refused = allod(&["token", "new"]).args(more).output().unwrap();
        let said = String::from_utf8(refused.stderr).unwrap();
        assert!(refused.status.code() == Some(2) && said.contains(words), "{more:?}: {said}");
    }
}
