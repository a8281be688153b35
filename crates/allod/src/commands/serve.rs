//! `allod serve`: opens the journal, starts the engine, and serves all interfaces until a stop signal.

use std::sync::Arc;
use std::time::Duration;

use allod_core::command::Command;
use allod_edge::{App, Exporter, Listener, ProblemDetails, Ready};
use allod_engine::{Engine, EngineError, Handle};
use allod_face_native::Native;
use allod_face_placement::Placement;
use allod_face_restconf::Restconf;
use allod_face_restconf::id_manager::{self, IdManager};
use allod_face_restconf::resource_pools::{self, ResourcePools};
use allod_face_restconf::yang::embedded;
use allod_journal::embedded::accepted_losses;
use allod_reactor::Reactor;
use allod_reactor::authority::AuthorityDriver;
use anyhow::{Context, Result, anyhow};
use tracing::{info, warn};
use tracing_subscriber::EnvFilter;

use crate::config::{LogFormat, ServeArguments, ServerSettings};
use crate::error::CommandError;
use crate::index_folder::IndexFolder;
use crate::journal_location::{JournalLocation, OpenedJournal};
use crate::security::Security;
use crate::{open_files, output, yang_modules};

pub fn run(arguments: ServeArguments) -> Result<(), CommandError> {
    let settings = arguments.settings().map_err(CommandError::Usage)?;
    start_log(&settings).map_err(CommandError::Usage)?;
    open_files::raise_limit(settings.limits.edge.connections_max);
    let runtime = tokio::runtime::Runtime::new().map_err(CommandError::failed)?;
    runtime.block_on(serve(settings))
}

async fn serve(settings: ServerSettings) -> Result<(), CommandError> {
    // Before anything records a metric.
    let exporter = Exporter::install();
    let security = Security::open(&settings).map_err(CommandError::Usage)?;
    let accept_queue = settings.limits.edge.accept_queue_max;
    let listener = Listener::bind(settings.listen, settings.auth, accept_queue)
        .await
        .map_err(CommandError::usage)?;
    let listener = security.of_listener(listener);
    let stop = allod_edge::stop_signal().map_err(CommandError::failed)?;
    // Opening a journal in PostgreSQL blocks.
    let location = JournalLocation::of(&settings);
    let index = IndexFolder::of(&settings, &location).map_err(CommandError::Failed)?;
    let engine = tokio::task::block_in_place(|| start_engine(&settings, &location, &index))?;
    let handle = engine.handle();

    let limits = &settings.limits;
    let native =
        Native::new(handle.clone(), limits.list(), limits.native, limits.wait, limits.search);
    let ready = Arc::new(EngineReady(handle.clone()));
    let mut routes = allod_edge::health_routes(ready, exporter.clone());
    routes.extend(native.routes());
    let placement = allod_face_placement::PlacementSettings {
        scheme: security.scheme(),
        search: settings.limits.search,
        ..settings.placement.clone()
    };
    let placement = Placement::new(handle.clone(), placement)
        .map_err(|why| CommandError::Usage(anyhow!("in [policy.rules]: {why}")))?;
    routes.extend(placement.routes());
    let restconf = restconf(&settings, handle.clone(), security.scheme())?;
    routes.extend(restconf.routes());
    let app = App::new(routes, settings.limits.edge);
    let app = app.map_err(CommandError::failed)?;
    // Placement is at the root, so it answers all paths that no other interface has.
    let app = ["/v1", "/healthz", "/readyz", "/metrics"]
        .into_iter()
        .fold(app, |app, prefix| app.error_format(prefix, Arc::new(ProblemDetails)))
        .error_format("/", Placement::error_format());
    let app = ["/restconf", "/rests", "/.well-known/host-meta"]
        .into_iter()
        .fold(app, |app, prefix| app.error_format(prefix, restconf.error_format()))
        .cors(settings.cors.clone())
        .at_stop(move || native.stop_waiting());
    let app = Arc::new(security.of_app(app));

    let webhooks = settings.build_webhooks().map_err(CommandError::Usage)?;
    let reactor = Reactor::start(handle.clone(), Arc::new(webhooks), settings.limits.reactor);
    let authorities = settings.authority_settings();
    let driver = AuthorityDriver::start(handle.clone(), authorities, settings.limits.reactor);
    tokio::spawn(define_authorities(handle.clone(), settings.authority_commands().collect()));

    let address = listener.address();
    info!(%address, journal = %location, "listening");
    // Scripts wait for this line, which does not depend on the format and level of the log.
    output::message(&format!("listening on {}://{address}", security.scheme()));
    security.start_reloading().map_err(CommandError::failed)?;
    let until = async {
        tokio::select! {
            () = stop => info!("stopping"),
            () = engine_stopped(&engine) => {}
        }
    };
    let cut_off = listener.serve(app, exporter, until).await;
    if cut_off > 0 {
        warn!(connections = cut_off, "closed connections that took too long to finish");
    }
    reactor.stop().await;
    driver.stop().await;
    let stopped = tokio::task::spawn_blocking(move || engine.stop()).await;
    match stopped {
        Ok(Ok(())) => {
            info!("stopped");
            Ok(())
        }
        Ok(Err(halt)) => Err(CommandError::Failed(halt.into())),
        Err(error) => Err(CommandError::Failed(error.into())),
    }
}

/// Defines the authorities of the configuration, once the journal can be written.
async fn define_authorities(handle: Handle, commands: Vec<Command>) {
    for command in commands {
        loop {
            match handle.submit(command.clone()).await {
                Ok(reply) => {
                    if let Err(refused) = reply.answer {
                        warn!(refusal = %refused.refusal, "an authority of the configuration was refused");
                    }
                    break;
                }
                Err(EngineError::Stopping) => return,
                Err(_) => tokio::time::sleep(Duration::from_millis(200)).await,
            }
        }
    }
}

/// The RESTCONF interface with all models and their schema.
fn restconf(
    settings: &ServerSettings,
    handle: Handle,
    scheme: &'static str,
) -> Result<Arc<Restconf>, CommandError> {
    let build = || {
        let site = match &settings.restconf.modules {
            Some(folder) => yang_modules::read(folder)?,
            None => Vec::new(),
        };
        let site: Vec<(&str, &str)> = site.iter().map(|(file, text)| (&**file, &**text)).collect();
        let modules = [embedded::PROTOCOL, id_manager::MODULES, resource_pools::MODULES, &site];
        let schema = yang_modules::compile(&modules.concat(), &site)
            .map_err(|error| format!("a YANG module is invalid: {error}"))?;
        let schema = Arc::new(schema);
        let id_manager = IdManager::new(Arc::clone(&schema), settings.id_manager.clone())?;
        let face = allod_face_restconf::RestconfSettings {
            error_prefix: settings.restconf.error_prefix,
            data_missing: settings.restconf.data_missing,
            scheme,
            ..settings.limits.restconf.clone()
        };
        let resource_pools = ResourcePools::new(Arc::clone(&schema))?;
        Restconf::new(handle, face, schema, vec![Arc::new(id_manager), Arc::new(resource_pools)])
    };
    build().map_err(|why| CommandError::Usage(anyhow!("RESTCONF: {why}")))
}

/// Opens the journal and starts the engine. The journal is replayed while the server already listens.
fn start_engine(
    settings: &ServerSettings,
    location: &JournalLocation,
    index: &IndexFolder,
) -> Result<Engine, CommandError> {
    let OpenedJournal { journal, checkpoints, torn } = location.open(settings.ha)?;
    if let JournalLocation::Folder(data) = location {
        for loss in accepted_losses(data) {
            warn!(
                loss,
                "this journal has lost acknowledged writes, and an operator has accepted it"
            );
        }
    }
    if let Some(torn) = torn {
        warn!(?torn, "dropped an incomplete write of a crash; it had not been acknowledged");
    }
    let (history, archive) = (settings.history, settings.archive.clone());
    let index = Some(index.path.clone());
    let mut config = allod_engine::Config { history, archive, index, ..settings.limits.engine() };
    if settings.webhooks.is_empty() {
        // Without webhooks, no notifications are queued.
        config.limits.outbox_max = 0;
    }
    Engine::start(journal, checkpoints, config)
        .context("cannot start the engine")
        .map_err(CommandError::Failed)
}

/// Waits until the engine has stopped because of an error.
async fn engine_stopped(engine: &Engine) {
    while !engine.has_ended() {
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
}

/// `/readyz`: ready once the journal is replayed, and while it can be written.
struct EngineReady(Handle);

impl Ready for EngineReady {
    fn ready(&self) -> Result<Option<String>, String> {
        let status = self.0.status();
        if let Some(why) = status.degraded {
            return Err(why);
        }
        if !status.ready {
            return Err("the journal is being replayed".into());
        }
        let off_ms = status.clock.off_ms;
        Ok((off_ms != 0)
            .then(|| format!("the machine's clock differs from the server's time by {off_ms} ms")))
    }
}

fn start_log(settings: &ServerSettings) -> Result<()> {
    // The PostgreSQL driver logs every statement. Its log must be enabled by name.
    let driver = if settings.log.contains("tokio_postgres") { "" } else { ",tokio_postgres=warn" };
    let filter = EnvFilter::try_new(format!("{}{driver}", settings.log))
        .map_err(|error| anyhow!("--log '{}' is invalid: {error}", settings.log))?;
    let log = tracing_subscriber::fmt().with_env_filter(filter).with_writer(std::io::stderr);
    // When stderr is closed, reporting that on stderr would panic.
    let log = log.log_internal_errors(false);
    match settings.log_format {
        LogFormat::Text => log.with_ansi(false).init(),
        LogFormat::Json => log.json().init(),
    }
    Ok(())
}
