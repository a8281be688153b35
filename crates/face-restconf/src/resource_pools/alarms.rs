//! Alarms of pools and services, as data.

use std::sync::Arc;

use allod_core::alarm::AlarmCommand;
use allod_core::alarm::{Alarm, AlarmKind};
use allod_core::command::Command;
use allod_core::view::{self, State};

use crate::error::{ErrorTag, RestconfError, Result};
use crate::model::{InstancePath, PathStep};
use crate::protocol::time;
use crate::tree::{DataNode, LeafValue, NodeSource, select};
use crate::yang::node_set;

/// NSO's name for itself in the list of devices.
const DEVICE: &str = "ncs";

const CLEARED: &str = "cleared";

node_set! {
    pub(super) struct AlarmNodes {
        top: "",
        list: "/alarm-list",
        count: "/alarm-list/number-of-alarms",
        last_changed: "/alarm-list/last-changed",
        alarm: "/alarm-list/alarm",
        cleared: "/alarm-list/alarm/is-cleared",
        changed_at: "/alarm-list/alarm/last-status-change",
        severity: "/alarm-list/alarm/last-perceived-severity",
        text: "/alarm-list/alarm/last-alarm-text",
        change: "/alarm-list/alarm/status-change",
        change_at: "/alarm-list/alarm/status-change/event-time",
        change_severity: "/alarm-list/alarm/status-change/perceived-severity",
        change_text: "/alarm-list/alarm/status-change/alarm-text",
        purge: "/alarm-list/alarm/purge",
        @named: AlarmKeyNodes = "/alarm-list/alarm",
    }
}

node_set! {
    /// The key leaves of an alarm.
    pub(super) struct AlarmKeyNodes {
        device: "/device",
        kind: "/type",
        object: "/managed-object",
        problem: "/specific-problem",
    }
}

impl AlarmKeyNodes {
    pub fn leaves(&self, object: &Arc<str>, kind: AlarmKind, ids: bool) -> Vec<DataNode> {
        vec![
            DataNode::leaf(self.device, DEVICE),
            DataNode::leaf(self.kind, type_name(kind, ids)),
            DataNode::leaf(self.object, object),
            DataNode::leaf(self.problem, ""),
        ]
    }
}

/// The `alarm-type`. `ids`: the pool is an id pool.
fn type_name(kind: AlarmKind, ids: bool) -> &'static str {
    match (kind, ids) {
        (AlarmKind::Exhausted, true) => "id-pool-exhausted",
        (AlarmKind::Exhausted, false) => "ip-address-pool-exhausted",
        (AlarmKind::Low, true) => "id-pool-low-threshold-reached",
        (AlarmKind::Low, false) => "ip-address-pool-low-threshold-reached",
        (AlarmKind::OddExhausted, _) => "id-pool-odd-exhausted",
        (AlarmKind::OddLow, _) => "id-pool-odd-low-threshold-reached",
        (AlarmKind::EvenExhausted, _) => "id-pool-even-exhausted",
        (AlarmKind::EvenLow, _) => "id-pool-even-low-threshold-reached",
        (AlarmKind::Undelivered, _) => "service-activation-failure",
        (AlarmKind::Overdue, _) => "authority-overdue",
        (AlarmKind::Stuck, _) => "authority-claim-stuck",
        (AlarmKind::Conflict, _) => "authority-claim-in-conflict",
        (AlarmKind::Drifted, _) => "authority-drifted",
    }
}

/// The severity and the text of a raised alarm.
pub(super) fn severity_and_text(kind: AlarmKind) -> (&'static str, &'static str) {
    match kind {
        AlarmKind::Exhausted | AlarmKind::OddExhausted | AlarmKind::EvenExhausted => {
            ("major", "Pool is empty")
        }
        AlarmKind::Low | AlarmKind::OddLow | AlarmKind::EvenLow => {
            ("major", "Pool is getting close to empty")
        }
        AlarmKind::Undelivered => ("critical", "Service could not be re-deployed"),
        AlarmKind::Overdue => ("major", "Authority has not answered for too long"),
        AlarmKind::Stuck => ("major", "Outcome of a request to the authority is unknown"),
        AlarmKind::Conflict => ("major", "Authority has granted a value that is in use"),
        AlarmKind::Drifted => ("major", "Authority has another value for a look-up"),
    }
}

/// The severity of an alarm that may be cleared.
pub(super) fn severity(kind: AlarmKind, raised: bool) -> &'static str {
    if raised { severity_and_text(kind).0 } else { CLEARED }
}

impl AlarmNodes {
    /// The data at the path; `None` as long as there has never been an alarm.
    pub fn data_at(&self, state: &State, steps: &[PathStep]) -> Option<Box<dyn NodeSource>> {
        let (first, below) = steps.split_first()?;
        let alarms = view::alarms(state);
        if first.node != self.top || alarms.is_empty() {
            return None;
        }
        let last = alarms.values().map(|alarm| alarm.cleared_ms.unwrap_or(alarm.raised_ms)).max();
        let mut children = vec![DataNode::leaf(self.count, LeafValue::Uint(alarms.len() as u64))];
        children.extend(last.map(|at_ms| DataNode::leaf(self.last_changed, time_value(at_ms))));
        children.extend(alarms.values().map(|alarm| self.entry(alarm)));
        let list = DataNode::inner(self.list, children);
        select(vec![DataNode::inner(self.top, vec![list])], below)
    }

    fn entry(&self, alarm: &Alarm) -> DataNode {
        let (raised_severity, text) = severity_and_text(alarm.kind);
        let changed = alarm.cleared_ms.unwrap_or(alarm.raised_ms);
        let is_over = alarm.cleared_ms.is_some();
        let mut children = self.named.leaves(&alarm.object, alarm.kind, alarm.ids);
        children.extend([
            DataNode::leaf(self.cleared, is_over),
            DataNode::leaf(self.changed_at, time_value(changed)),
            DataNode::leaf(self.severity, severity(alarm.kind, !is_over)),
            DataNode::leaf(self.text, text),
        ]);
        // Two changes at the same time are one list entry; the later one counts.
        if alarm.cleared_ms != Some(alarm.raised_ms) {
            children.push(self.status_change(alarm.raised_ms, raised_severity, text));
        }
        let cleared = alarm.cleared_ms.map(|at_ms| self.status_change(at_ms, CLEARED, text));
        DataNode::inner(self.alarm, children).with(cleared)
    }

    fn status_change(&self, at_ms: u64, severity: &str, text: &str) -> DataNode {
        let leaves = vec![
            DataNode::leaf(self.change_at, time_value(at_ms)),
            DataNode::leaf(self.change_severity, severity),
            DataNode::leaf(self.change_text, text),
        ];
        DataNode::inner(self.change, leaves)
    }

    /// The command that purges the alarm at the target.
    pub fn purged(&self, state: &State, target: &InstancePath) -> Result<Command> {
        let step = target.steps.iter().find(|step| step.node == self.alarm);
        let keys = step.map_or(&[][..], |step| &step.keys);
        let alarm = view::alarms(state).values().find(|alarm| {
            let leaves = self.named.leaves(&alarm.object, alarm.kind, alarm.ids);
            leaves.iter().filter_map(DataNode::value).eq(keys)
        });
        let alarm = alarm.ok_or_else(|| {
            RestconfError::application(ErrorTag::DataMissing, "the alarm does not exist")
        })?;
        let (object, kind) = (alarm.object.clone(), alarm.kind);
        Ok(Command::Alarm(AlarmCommand::Purge { object, kind }))
    }
}

pub(super) fn time_value(at_ms: u64) -> LeafValue {
    LeafValue::text(time::show(at_ms))
}
