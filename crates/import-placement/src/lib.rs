//! Copies a running OpenStack Placement into another server with the same interface, and compares the two.
//!
//! - `version`, `wire`, `consumer_id`, `json_members`, `error_text`: Placement's versions, bodies and errors
//! - `reader`: reads from either server; `writer`: writes to the target; `retry`: retries while a server is unavailable
//! - `plan`: decides what to do with an item; `copy`: does it; `verify`: compares the servers afterwards
//! - `find_consumers`: finds every consumer once; `parallel`: runs several requests at a time
//! - `progress`, `report`: progress while it runs, and the result
//!
//! The importer never writes to the source. It stores nothing between runs: items that are equal on both sides are
//! skipped, so an interrupted import is resumed by running it again.

mod consumer_id;
mod copy;
mod error;
mod error_text;
mod find_consumers;
mod json_members;
mod parallel;
mod plan;
pub mod progress;
mod reader;
pub mod report;
mod retry;
mod verify;
mod version;
mod wire;
mod writer;

use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use allod_outbound::BaseUrl;

pub use error::{ImportError, ImportErrorKind};
use progress::ImportProgress;
use reader::{ImportSide, PlacementReader};
use report::{ImportReport, ServerInfo};
pub use version::PlacementVersion;
use version::{OLDEST_READ, OLDEST_WRITTEN, TYPES};
use writer::PlacementWriter;

/// A Placement server and how to reach it.
#[derive(Debug, Clone)]
pub struct PlacementServer {
    pub url: BaseUrl,
    /// Sent as `X-Auth-Token`.
    pub token: Option<String>,
    /// The CA certificates to trust instead of the system's.
    pub ca: Option<PathBuf>,
    /// Maximum time to wait for an answer.
    pub timeout: Duration,
    /// How long to retry while the server is unavailable.
    pub patience: Duration,
}

/// What to do with providers that only the target has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ExtraProviders {
    /// Stop before writing anything.
    Refuse,
    /// Leave them as they are and do not compare them.
    Keep,
    /// Delete them and their allocations.
    Delete,
}

#[derive(Debug, Clone)]
pub struct ImportOptions {
    /// Compare only, and write nothing.
    pub verify_only: bool,
    /// Overwrite items of the target that differ.
    pub replace: bool,
    pub extra_providers: ExtraProviders,
    /// How many requests to send at a time.
    pub jobs: usize,
    /// The newest version to use with the source.
    pub source_version_max: Option<PlacementVersion>,
}

/// Both servers and the options.
struct Import {
    source: PlacementReader,
    target: PlacementWriter,
    options: ImportOptions,
    progress: Arc<dyn ImportProgress>,
}

impl Import {
    /// Whether both servers have consumer types.
    fn has_types(&self) -> bool {
        self.source.version >= TYPES && self.target.reader.version >= TYPES
    }
}

/// Copies the source into the target, unless `verify_only` is set, and compares the two.
pub async fn run(
    source: PlacementServer,
    target: PlacementServer,
    options: ImportOptions,
    progress: Arc<dyn ImportProgress>,
) -> Result<ImportReport, ImportError> {
    let began = Instant::now();
    let jobs = options.jobs;
    let version_max = options.source_version_max;
    let source =
        PlacementReader::open(ImportSide::Source, source, jobs, version_max, OLDEST_READ).await?;
    let reader =
        PlacementReader::open(ImportSide::Target, target, jobs, None, OLDEST_WRITTEN).await?;
    let lost = version::not_copied(source.version.min(reader.version));
    let target = PlacementWriter { reader };
    let import = Arc::new(Import { source, target, options, progress });
    let copied = if import.options.verify_only {
        None
    } else {
        let lists = copy::ProviderLists::read(&import).await?;
        lists.ensure_no_extra(import.options.extra_providers)?;
        import.progress.message(&format!("{} has {} providers", import.source, lists.source.len()));
        Some(copy::run(&import, lists).await?)
    };
    let compared = verify::run(&import).await?;
    let refused = copied.iter().any(|copied| copied.refused_total() > 0);
    let info = |reader: &PlacementReader| ServerInfo {
        url: reader.to_string(),
        version: reader.version.to_string(),
    };
    Ok(ImportReport {
        agrees: compared.differences_total == 0 && !refused,
        source: info(&import.source),
        target: info(&import.target.reader),
        lost,
        copied,
        compared,
        took_s: began.elapsed().as_secs_f64(),
    })
}
