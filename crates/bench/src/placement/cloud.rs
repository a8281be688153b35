//! The cloud that both servers are loaded with. UUIDs, traits and aggregates are computed from numbers, so the scripts that
//! query need no state from those that load.

use std::io::Write;

use crate::load::Script;
use crate::placement::script::{put_head, request};

/// Availability zones; each host is in one.
pub const ZONES: u64 = 4;
/// Hosts in a rack; each rack is an aggregate.
pub const RACK: u64 = 40;
/// Hosts with unlimited inventory, for concurrent writes to a few hosts.
pub const HOT: u64 = 4;

#[derive(Debug, Clone, Copy)]
pub enum UuidKind {
    Host = 1,
    Zone = 2,
    Rack = 3,
    Consumer = 4,
    Project = 5,
    Numa = 6,
    Nic = 7,
    Hot = 8,
}

pub fn mix(mut z: u64) -> u64 {
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

/// The UUID of number `n` of a kind.
pub fn uuid(of: UuidKind, n: u64) -> String {
    let seed = mix((of as u64) << 56 ^ n);
    let (high, low) = (mix(seed ^ 1), mix(seed ^ 2));
    format!(
        "{:08x}-{:04x}-4{:03x}-8{:03x}-{:012x}",
        high >> 32,
        high >> 16 & 0xffff,
        high & 0xfff,
        low >> 52,
        low & 0xffff_ffff_ffff
    )
}

/// The traits of a typical host.
pub const TRAITS: [&str; 24] = [
    "COMPUTE_NODE",
    "COMPUTE_ACCELERATORS",
    "COMPUTE_DEVICE_TAGGING",
    "COMPUTE_IMAGE_TYPE_QCOW2",
    "COMPUTE_IMAGE_TYPE_RAW",
    "COMPUTE_NET_ATTACH_INTERFACE",
    "COMPUTE_NET_ATTACH_INTERFACE_WITH_TAG",
    "COMPUTE_NET_VIF_MODEL_E1000",
    "COMPUTE_NET_VIF_MODEL_VIRTIO",
    "COMPUTE_RESCUE_BFV",
    "COMPUTE_SOCKET_PCI_NUMA_AFFINITY",
    "COMPUTE_STORAGE_BUS_SCSI",
    "COMPUTE_STORAGE_BUS_VIRTIO",
    "COMPUTE_TRUSTED_CERTS",
    "COMPUTE_VOLUME_ATTACH",
    "COMPUTE_VOLUME_ATTACH_WITH_TAG",
    "COMPUTE_VOLUME_EXTEND",
    "COMPUTE_VOLUME_MULTI_ATTACH",
    "HW_CPU_HYPERTHREADING",
    "HW_CPU_X86_AESNI",
    "HW_CPU_X86_AVX",
    "HW_CPU_X86_SSE41",
    "HW_CPU_X86_SSE42",
    "HW_CPU_X86_VMX",
];

pub const CUSTOM_TRAITS: [&str; 2] = ["CUSTOM_PHYSNET_A", "CUSTOM_PHYSNET_B"];

/// A provider with its inventories, traits and aggregates.
#[derive(Debug, Clone)]
pub struct CloudProvider {
    pub uuid: String,
    pub name: String,
    pub parent: Option<String>,
    pub root: String,
    pub inventories: Vec<(&'static str, u64, f64)>,
    pub traits: Vec<&'static str>,
    pub aggregates: Vec<String>,
}

pub fn host(n: u64) -> CloudProvider {
    let dice = mix(n ^ 0x517c_c1b7_2722_0a95);
    let mut traits = TRAITS.to_vec();
    if dice % 100 < 80 {
        traits.push("HW_CPU_X86_AVX2");
    }
    if (dice >> 8) % 100 < 2 {
        traits.push("COMPUTE_STATUS_DISABLED");
    }
    let uuid = uuid(UuidKind::Host, n);
    CloudProvider {
        root: uuid.clone(),
        uuid,
        name: format!("host-{n:06}"),
        parent: None,
        inventories: vec![
            ("VCPU", 64, 16.0),
            ("MEMORY_MB", 524_288, 1.5),
            ("DISK_GB", 20_000, 1.0),
        ],
        traits,
        aggregates: vec![
            self::uuid(UuidKind::Zone, n % ZONES),
            self::uuid(UuidKind::Rack, n / RACK),
        ],
    }
}

/// A host outside all zones, with maximum inventories.
pub fn hot(n: u64) -> CloudProvider {
    let uuid = uuid(UuidKind::Hot, n);
    let all = i32::MAX as u64;
    CloudProvider {
        root: uuid.clone(),
        uuid,
        name: format!("hot-{n}"),
        parent: None,
        inventories: vec![("VCPU", all, 16.0), ("MEMORY_MB", all, 16.0), ("DISK_GB", all, 16.0)],
        traits: vec!["COMPUTE_NODE"],
        aggregates: vec![],
    }
}

/// A host with two NUMA nodes, each with two network cards that have virtual functions.
pub fn tree(n: u64) -> Vec<CloudProvider> {
    let root = uuid(UuidKind::Host, n);
    let below = |of: UuidKind, n: u64, name: String, parent: &str| CloudProvider {
        uuid: uuid(of, n),
        name,
        parent: Some(parent.to_owned()),
        root: root.clone(),
        inventories: vec![],
        traits: vec![],
        aggregates: vec![],
    };
    let mut all = vec![CloudProvider {
        uuid: root.clone(),
        name: format!("host-{n:06}"),
        parent: None,
        root: root.clone(),
        inventories: vec![("DISK_GB", 20_000, 1.0)],
        traits: TRAITS.to_vec(),
        aggregates: vec![],
    }];
    for numa in n * 2..n * 2 + 2 {
        let mut node = below(UuidKind::Numa, numa, format!("numa-{numa:06}"), &root);
        node.inventories = vec![("VCPU", 32, 4.0), ("MEMORY_MB", 262_144, 1.0)];
        node.traits = vec!["HW_NUMA_ROOT"];
        let parent = node.uuid.clone();
        all.push(node);
        for nic in numa * 2..numa * 2 + 2 {
            let mut card = below(UuidKind::Nic, nic, format!("nic-{nic:06}"), &parent);
            card.inventories = vec![("SRIOV_NET_VF", 8, 1.0)];
            card.traits = vec![CUSTOM_TRAITS[(nic % 2) as usize]];
            all.push(card);
        }
    }
    all
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Cloud {
    /// A number of hosts, and the hot ones.
    Flat(u64),
    /// A number of trees.
    Nested(u64),
}

impl Cloud {
    pub fn providers(self) -> Vec<CloudProvider> {
        match self {
            Cloud::Flat(hosts) => (0..hosts).map(host).chain((0..HOT).map(hot)).collect(),
            Cloud::Nested(hosts) => (0..hosts).flat_map(tree).collect(),
        }
    }
}

/// Loads providers through the interface.
pub struct CloudLoader {
    requests: Vec<Vec<u8>>,
    next: usize,
}

impl CloudLoader {
    /// Scripts that together load the cloud. One script loads a whole tree.
    pub fn scripts(cloud: Cloud, scripts: usize) -> Vec<CloudLoader> {
        let mut parts: Vec<Vec<Vec<u8>>> = vec![Vec::new(); scripts];
        let mut part = 0;
        for provider in cloud.providers() {
            part = if provider.parent.is_none() { (part + 1) % scripts } else { part };
            load_provider(&provider, &mut parts[part]);
        }
        parts.into_iter().map(|requests| CloudLoader { requests, next: 0 }).collect()
    }

    /// Traits, which must exist before the providers.
    pub fn first() -> Vec<CloudLoader> {
        let requests = CUSTOM_TRAITS
            .iter()
            .map(|name| {
                let mut out = Vec::new();
                put_head(&mut out, "PUT", &format!("/traits/{name}"), None);
                out
            })
            .collect();
        vec![CloudLoader { requests, next: 0 }]
    }
}

fn load_provider(provider: &CloudProvider, out: &mut Vec<Vec<u8>>) {
    let CloudProvider { uuid, name, parent, .. } = provider;
    let path = format!("/resource_providers/{uuid}");
    let parent = parent.as_ref().map_or("null".to_owned(), |parent| format!("\"{parent}\""));
    let body = format!(r#"{{"uuid":"{uuid}","name":"{name}","parent_provider_uuid":{parent}}}"#);
    out.push(request("POST", "/resource_providers", &body));
    let mut generation = 0;
    let inventories: Vec<String> = provider
        .inventories
        .iter()
        .map(|(class, total, ratio)| {
            format!(
                r#""{class}":{{"total":{total},"max_unit":{total},"allocation_ratio":{ratio:.1}}}"#
            )
        })
        .collect();
    let body = format!(
        r#"{{"resource_provider_generation":{generation},"inventories":{{{}}}}}"#,
        inventories.join(",")
    );
    out.push(request("PUT", &format!("{path}/inventories"), &body));
    generation += 1;
    if !provider.traits.is_empty() {
        let body = format!(
            r#"{{"resource_provider_generation":{generation},"traits":{:?}}}"#,
            provider.traits
        );
        out.push(request("PUT", &format!("{path}/traits"), &body));
        generation += 1;
    }
    if !provider.aggregates.is_empty() {
        let body = format!(
            r#"{{"resource_provider_generation":{generation},"aggregates":{:?}}}"#,
            provider.aggregates
        );
        out.push(request("PUT", &format!("{path}/aggregates"), &body));
    }
}

impl Script for CloudLoader {
    fn request(&mut self, out: &mut Vec<u8>) -> bool {
        let Some(request) = self.requests.get(self.next) else { return false };
        self.next += 1;
        // Writing into a vector cannot fail.
        let _ = out.write_all(request);
        true
    }

    fn reply(&mut self, status: u16, body: &[u8]) -> Result<(), String> {
        if (200..300).contains(&status) {
            return Ok(());
        }
        Err(format!("loading was answered with {status}: {}", String::from_utf8_lossy(body)))
    }
}
