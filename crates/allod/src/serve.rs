//! `allod serve`: opens the journal, starts the engine, and serves the faces until it is told to stop.

use std::sync::Arc;
use std::time::Duration;

use allod_edge::{App, Exporter, Listener, ProblemDetails, Ready};
use allod_engine::{Engine, Handle};
use allod_face_native::Native;
use allod_face_placement::Placement;
use allod_face_restconf::Restconf;
use allod_face_restconf::id_manager::{self, IdManager};
use allod_face_restconf::resource_pools::{self, ResourcePools};
use allod_face_restconf::yang::{Schema, embedded};
use allod_reactor::Reactor;
use anyhow::{Context, Result, anyhow};
use tracing::{info, warn};
use tracing_subscriber::EnvFilter;

use crate::config::{LogFormat, ServeArguments, Settings};
use crate::index::IndexFolder;
use crate::place::{self, Place};
use crate::security::Security;
use crate::{Failed, cli, open_files};

pub fn run(arguments: ServeArguments) -> Result<(), Failed> {
    let settings = arguments.settings().map_err(Failed::Asked)?;
    start_log(&settings).map_err(Failed::Asked)?;
    open_files::raise_limit(settings.limits.edge.connections_max);
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()
        .map_err(|error| Failed::Running(error.into()))?;
    runtime.block_on(serve(settings))
}

async fn serve(settings: Settings) -> Result<(), Failed> {
    // First of all, so that every metric of every part finds its recorder.
    let exporter = Exporter::install();
    let security = Security::open(&settings).map_err(Failed::Asked)?;
    let listener = Listener::bind(settings.listen, settings.auth)
        .await
        .map_err(|error| Failed::Asked(error.into()))?;
    let listener = security.of_listener(listener);
    let stop = allod_edge::stop_signal().map_err(|error| Failed::Running(error.into()))?;
    // What is kept elsewhere is asked for, which blocks.
    let place = Place::of(&settings);
    let index = IndexFolder::of(&settings, &place).map_err(Failed::Running)?;
    let engine = tokio::task::block_in_place(|| start_engine(&settings, &place, &index))?;
    let handle = engine.handle();

    let limits = &settings.limits;
    let native = Native::new(handle.clone(), limits.list(), limits.native, limits.search);
    let ready = Arc::new(EngineReady(handle.clone()));
    let mut routes = allod_edge::health_routes(ready, exporter.clone());
    routes.extend(native.routes());
    let placement = allod_face_placement::Settings {
        scheme: security.scheme(),
        search: settings.limits.search,
        ..settings.placement.clone()
    };
    let placement = Placement::new(handle.clone(), placement)
        .map_err(|why| Failed::Asked(anyhow!("in [policy.rules]: {why}")))?;
    routes.extend(placement.routes());
    let restconf = restconf(&settings, handle.clone(), security.scheme())?;
    routes.extend(restconf.routes());
    let app = App::new(routes, settings.limits.edge);
    let app = app.map_err(|error| Failed::Running(error.into()))?;
    // What is nobody else's is Placement's, which is at the root.
    let app = ["/v1", "/healthz", "/readyz", "/metrics"]
        .into_iter()
        .fold(app, |app, prefix| app.error_format(prefix, Arc::new(ProblemDetails)))
        .error_format("/", Placement::error_format());
    let app = ["/restconf", "/rests", "/.well-known/host-meta"]
        .into_iter()
        .fold(app, |app, prefix| app.error_format(prefix, restconf.error_format()))
        .cors(settings.cors.clone());
    let app = Arc::new(security.of_app(app));

    let webhooks = settings.reachable().map_err(Failed::Asked)?;
    let reactor = Reactor::start(handle.clone(), Arc::new(webhooks), settings.limits.reactor);

    let address = listener.address();
    info!(%address, journal = %place, "listening");
    // Also as a plain line, whatever the log's form and level: scripts wait for it.
    cli::say(&format!("listening on {}://{address}", security.scheme()));
    security.keep_fresh().map_err(|error| Failed::Running(error.into()))?;
    let until = async {
        tokio::select! {
            () = stop => info!("stopping"),
            () = ended(&engine) => {}
        }
    };
    let cut_off = listener.serve(app, exporter, until).await;
    if cut_off > 0 {
        warn!(connections = cut_off, "connections were cut off because they took too long");
    }
    reactor.stop().await;
    let stopped = tokio::task::spawn_blocking(move || engine.stop()).await;
    match stopped {
        Ok(Ok(())) => {
            info!("stopped");
            Ok(())
        }
        Ok(Err(halt)) => Err(Failed::Running(halt.into())),
        Err(error) => Err(Failed::Running(error.into())),
    }
}

/// The RESTCONF face with every model, on the schema of all of them.
fn restconf(
    settings: &Settings,
    handle: Handle,
    scheme: &'static str,
) -> Result<Arc<Restconf>, Failed> {
    let build = || {
        let modules = [embedded::PROTOCOL, id_manager::MODULES, resource_pools::MODULES];
        let schema = Schema::compile(&modules.concat())
            .map_err(|error| format!("a module is wrong: {error}"))?;
        let schema = Arc::new(schema);
        let id_manager = IdManager::new(Arc::clone(&schema), settings.id_manager.clone())?;
        let face = allod_face_restconf::Settings {
            error_prefix: settings.restconf.error_prefix,
            data_missing: settings.restconf.data_missing,
            scheme,
            ..settings.limits.restconf.clone()
        };
        let resource_pools = ResourcePools::new(Arc::clone(&schema))?;
        Restconf::new(handle, face, schema, vec![Arc::new(id_manager), Arc::new(resource_pools)])
    };
    build().map_err(|why| Failed::Asked(anyhow!("RESTCONF: {why}")))
}

/// Opens the journal and starts the engine on it. Replaying goes on while the server already listens.
fn start_engine(settings: &Settings, place: &Place, index: &IndexFolder) -> Result<Engine, Failed> {
    let place::Opened { journal, checkpoints, torn } = place.open(settings.ha)?;
    if let Some(torn) = torn {
        warn!(?torn, "a write that a crash had cut off was dropped; it had not been acknowledged");
    }
    let (history, archive) = (settings.history, settings.archive.clone());
    let index = Some(index.path.clone());
    let mut config = allod_engine::Config { history, archive, index, ..settings.limits.engine() };
    if settings.webhooks.is_empty() {
        // There is nobody to tell, so nothing is kept to be told.
        config.limits.outbox_max = 0;
    }
    Engine::start(journal, checkpoints, config)
        .context("the engine cannot be started")
        .map_err(Failed::Running)
}

/// Done when the engine has stopped by itself, which it does only when it cannot go on.
async fn ended(engine: &Engine) {
    while !engine.has_ended() {
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
}

/// `/readyz`: whether the journal has been replayed.
struct EngineReady(Handle);

impl Ready for EngineReady {
    fn ready(&self) -> Result<(), String> {
        let status = self.0.status();
        let why = || status.degraded.unwrap_or_else(|| "the journal is being replayed".into());
        if status.ready { Ok(()) } else { Err(why()) }
    }
}

fn start_log(settings: &Settings) -> Result<()> {
    // The driver would log every record as it writes it. Whoever wants that has to name it.
    let quiet = if settings.log.contains("tokio_postgres") { "" } else { ",tokio_postgres=warn" };
    let filter = EnvFilter::try_new(format!("{}{quiet}", settings.log))
        .map_err(|error| anyhow!("--log '{}' is not understood: {error}", settings.log))?;
    let log = tracing_subscriber::fmt().with_env_filter(filter).with_writer(std::io::stderr);
    // It would say on stderr that stderr cannot be written, and panic in whatever thread had something to log.
    let log = log.log_internal_errors(false);
    match settings.log_format {
        LogFormat::Text => log.with_ansi(false).init(),
        LogFormat::Json => log.json().init(),
    }
    Ok(())
}
