//! The real Placement in a typical deployment: uWSGI with two workers behind nginx, on its own durable PostgreSQL.
//!
//! `cargo xtask bench` creates its Python environment. The cloud is copied into its tables directly, because loading ten
//! thousand hosts through the interface takes a quarter of an hour and is not measured.

use std::collections::HashMap;
use std::fmt::Write;
use std::fs::{File, Permissions};
use std::net::SocketAddr;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use allod_testkit::postgres::Cluster;
use anyhow::{Context, Result, bail, ensure};
use tempfile::TempDir;

use super::cloud::{CUSTOM_TRAITS, Cloud, CloudProvider};
use crate::caller::Caller;
use crate::{postgres, process};

pub struct RealPlacement {
    pub address: SocketAddr,
    nginx: Child,
    uwsgi: Child,
    cluster: Cluster,
    _scratch: TempDir,
}

const START_MAX: Duration = Duration::from_secs(60);

impl RealPlacement {
    /// Starts it with a cloud.
    pub fn start(cloud: Cloud) -> Result<RealPlacement> {
        let python = std::env::var_os("ALLOD_BENCH_PLACEMENT").map(PathBuf::from).context(
            "ALLOD_BENCH_PLACEMENT does not name the interpreter of the real Placement; use cargo xtask bench",
        )?;
        let scratch = process::scratch()?;
        let folder = scratch.path();
        std::fs::set_permissions(folder, Permissions::from_mode(0o755))?;
        let cluster = postgres::start(folder)?;
        cluster.sql("create database placement")?;
        let config = configure(folder, &cluster)?;
        let bin = python.parent().context("the interpreter is in no folder")?;
        let synced = Command::new(bin.join("placement-manage"))
            .arg("--config-dir")
            .arg(&config)
            .args(["db", "sync"])
            .stdout(Stdio::null())
            .stderr(File::create(folder.join("sync.log"))?)
            .status()
            .context("cannot start placement-manage")?;
        ensure!(synced.success(), "placement-manage db sync failed: {}", log(folder, "sync.log"));
        let (inner, address) = (process::free_address()?, process::free_address()?);
        let uwsgi = Command::new(bin.join("uwsgi"))
            .arg("--ini")
            .arg(uwsgi_ini(folder, &config, inner)?)
            .env("OS_PLACEMENT_CONFIG_DIR", &config)
            .stdout(Stdio::null())
            .stderr(File::create(folder.join("uwsgi.log"))?)
            .spawn()
            .context("cannot start uwsgi")?;
        let nginx = Command::new("nginx")
            .arg("-c")
            .arg(nginx_conf(folder, inner, address)?)
            .arg("-p")
            .arg(folder)
            .stdout(Stdio::null())
            .stderr(File::create(folder.join("nginx.out"))?)
            .spawn()
            .context("cannot start nginx")?;
        let real = RealPlacement { address, nginx, uwsgi, cluster, _scratch: scratch };
        real.ready(folder_of(&real))?;
        real.load(cloud)?;
        Ok(real)
    }

    fn ready(&self, folder: &Path) -> Result<()> {
        let begun = Instant::now();
        loop {
            let asked =
                Caller::connect(self.address).and_then(|mut caller| caller.call("GET", "/", None));
            match asked {
                Ok((200, _)) => return Ok(()),
                _ if begun.elapsed() > START_MAX => {
                    bail!("the real Placement is not ready: {}", log(folder, "uwsgi.log"));
                }
                _ => std::thread::sleep(Duration::from_millis(50)),
            }
        }
    }

    fn load(&self, cloud: Cloud) -> Result<()> {
        let providers = cloud.providers();
        let script = folder_of(self).join("load.sql");
        std::fs::write(&script, tables(&providers))?;
        let loaded = Command::new("psql")
            .arg(format!(
                "host={} user={} dbname=placement",
                self.cluster.socket().display(),
                account(&self.cluster)
            ))
            .args(["-qX", "-v", "ON_ERROR_STOP=1", "-f"])
            .arg(&script)
            .output()
            .context("cannot start psql")?;
        ensure!(loaded.status.success(), "{}", String::from_utf8_lossy(&loaded.stderr));
        Ok(())
    }

    pub fn stop(mut self) -> Result<()> {
        process::stop(&mut self.nginx, "TERM", START_MAX)?;
        // Its exit status is irrelevant.
        process::signal(&self.uwsgi, "TERM")?;
        self.uwsgi.wait()?;
        self.cluster.stop()
    }
}

impl Drop for RealPlacement {
    fn drop(&mut self) {
        for child in [&mut self.nginx, &mut self.uwsgi] {
            // uWSGI stops its workers only on a signal. Errors mean that it has ended already.
            if let Ok(None) = child.try_wait() {
                let _ = process::signal(child, "TERM");
                let _ = child.wait();
            }
        }
    }
}

fn folder_of(real: &RealPlacement) -> &Path {
    real._scratch.path()
}

fn log(folder: &Path, name: &str) -> String {
    let text = std::fs::read_to_string(folder.join(name)).unwrap_or_default();
    let from = text.len().saturating_sub(2000);
    text.get(from..).unwrap_or(&text).trim().to_owned()
}

/// The user of a new cluster.
fn account(cluster: &Cluster) -> String {
    let url = cluster.url();
    let rest = url.split_once("://").map_or("", |(_, rest)| rest);
    rest.split_once('@').map_or("postgres", |(account, _)| account).to_owned()
}

fn configure(folder: &Path, cluster: &Cluster) -> Result<PathBuf> {
    let config = folder.join("etc");
    std::fs::create_dir(&config)?;
    let text = format!(
        "[DEFAULT]\nlog_file = {}\n[api]\nauth_strategy = noauth2\n[placement_database]\nconnection = postgresql+psycopg2://{}@/placement?host={}\n",
        folder.join("placement.log").display(),
        account(cluster),
        cluster.socket().display(),
    );
    std::fs::write(config.join("placement.conf"), text)?;
    Ok(config)
}

fn uwsgi_ini(folder: &Path, config: &Path, listen: SocketAddr) -> Result<PathBuf> {
    let path = folder.join("uwsgi.ini");
    let text = format!(
        "[uwsgi]\nmodule = placement.wsgi.api:application\nenv = OS_PLACEMENT_CONFIG_DIR={}\nmaster = true\nprocesses = 2\nthreads = 1\nenable-threads = true\nlazy-apps = true\nsocket = {listen}\nbuffer-size = 65535\ndisable-logging = true\ndie-on-term = true\nlisten = 128\n",
        config.display()
    );
    std::fs::write(&path, text)?;
    Ok(path)
}

fn nginx_conf(folder: &Path, inner: SocketAddr, listen: SocketAddr) -> Result<PathBuf> {
    let path = folder.join("nginx.conf");
    let at = folder.display();
    let text = format!(
        "daemon off;\npid {at}/nginx.pid;\nerror_log {at}/nginx.log warn;\nworker_processes 1;\nevents {{ worker_connections 512; }}\nhttp {{\n  access_log off;\n  client_body_temp_path {at}/body; proxy_temp_path {at}/proxy; uwsgi_temp_path {at}/uwsgi; fastcgi_temp_path {at}/fcgi; scgi_temp_path {at}/scgi;\n  keepalive_timeout 75; keepalive_requests 1000000; tcp_nodelay on;\n  server {{\n    listen {listen} backlog=512;\n    location / {{\n      include /etc/nginx/uwsgi_params;\n      uwsgi_pass {inner};\n      uwsgi_read_timeout 300; uwsgi_buffers 64 64k; uwsgi_buffer_size 64k; uwsgi_busy_buffers_size 256k; uwsgi_max_temp_file_size 0;\n    }}\n  }}\n}}\n"
    );
    std::fs::write(&path, text)?;
    Ok(path)
}

/// SQL for the rows that Placement would have written.
fn tables(providers: &[CloudProvider]) -> String {
    let mut out = String::from("begin;\n");
    let custom: Vec<String> = CUSTOM_TRAITS.iter().map(|name| format!("('{name}')")).collect();
    let _ = writeln!(out, "insert into traits (name) values {};", custom.join(","));
    let by_uuid: HashMap<&str, usize> =
        providers.iter().enumerate().map(|(at, one)| (one.uuid.as_str(), at + 1)).collect();
    out.push_str("copy resource_providers (id, uuid, name, generation, root_provider_id, parent_provider_id, created_at) from stdin;\n");
    for (at, one) in providers.iter().enumerate() {
        let parent = one.parent.as_deref().map_or("\\N".into(), |uuid| by_uuid[uuid].to_string());
        let steps =
            1 + usize::from(!one.traits.is_empty()) + usize::from(!one.aggregates.is_empty());
        let root = by_uuid[one.root.as_str()];
        let _ =
            writeln!(out, "{}\t{}\t{}\t{steps}\t{root}\t{parent}\tnow", at + 1, one.uuid, one.name);
    }
    out.push_str("\\.\n");
    let mut aggregates: Vec<&str> =
        providers.iter().flat_map(|one| one.aggregates.iter().map(String::as_str)).collect();
    aggregates.sort_unstable();
    aggregates.dedup();
    out.push_str("copy placement_aggregates (id, uuid, created_at) from stdin;\n");
    for (at, uuid) in aggregates.iter().enumerate() {
        let _ = writeln!(out, "{}\t{uuid}\tnow", at + 1);
    }
    out.push_str("\\.\ncopy resource_provider_aggregates (resource_provider_id, aggregate_id, created_at) from stdin;\n");
    for (at, one) in providers.iter().enumerate() {
        for uuid in &one.aggregates {
            let aggregate = aggregates.binary_search(&uuid.as_str()).map_or(0, |at| at + 1);
            let _ = writeln!(out, "{}\t{aggregate}\tnow", at + 1);
        }
    }
    out.push_str("\\.\ncreate temp table t (rp int, name text);\ncopy t from stdin;\n");
    for (at, one) in providers.iter().enumerate() {
        for name in &one.traits {
            let _ = writeln!(out, "{}\t{name}", at + 1);
        }
    }
    out.push_str("\\.\ninsert into resource_provider_traits (resource_provider_id, trait_id, created_at) select t.rp, traits.id, now() from t join traits using (name);\n");
    out.push_str(
        "create temp table i (rp int, name text, total int, ratio float);\ncopy i from stdin;\n",
    );
    for (at, one) in providers.iter().enumerate() {
        for (class, total, ratio) in &one.inventories {
            let _ = writeln!(out, "{}\t{class}\t{total}\t{ratio}", at + 1);
        }
    }
    out.push_str("\\.\ninsert into inventories (resource_provider_id, resource_class_id, total, reserved, min_unit, max_unit, step_size, allocation_ratio, created_at) select i.rp, resource_classes.id, total, 0, 1, total, 1, ratio, now() from i join resource_classes using (name);\n");
    out.push_str("select setval(pg_get_serial_sequence('resource_providers', 'id'), (select max(id) from resource_providers));\n");
    out.push_str("select setval(pg_get_serial_sequence('placement_aggregates', 'id'), (select coalesce(max(id), 1) from placement_aggregates));\n");
    out.push_str("commit;\nvacuum analyze;\n");
    out
}
