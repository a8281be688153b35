//! What is wrong with pools and services, as data.

use std::sync::Arc;

use allod_core::alarm::command::AlarmCommand;
use allod_core::alarm::{Alarm, AlarmKind};
use allod_core::command::Command;
use allod_core::state::State;

use super::at;
use super::read::select;
use crate::fault::{Fault, Tag};
use crate::model::{Step, Target};
use crate::protocol::time;
use crate::tree::{Node, Source, Value};
use crate::yang::{NodeId, Schema};

/// The original's name for itself among the devices.
const DEVICE: &str = "ncs";

const CLEARED: &str = "cleared";

#[derive(Debug)]
pub(super) struct AlarmNodes {
    pub top: NodeId,
    list: NodeId,
    count: NodeId,
    last_changed: NodeId,
    alarm: NodeId,
    pub named: Named,
    cleared: NodeId,
    changed_at: NodeId,
    severity: NodeId,
    text: NodeId,
    change: NodeId,
    change_at: NodeId,
    change_severity: NodeId,
    change_text: NodeId,
    pub purge: NodeId,
}

/// The leaves that say which alarm it is.
#[derive(Debug)]
pub(super) struct Named {
    device: NodeId,
    kind: NodeId,
    object: NodeId,
    problem: NodeId,
}

impl Named {
    pub fn of(schema: &Schema, path: &str) -> Result<Named, String> {
        Ok(Named {
            device: at(schema, &format!("{path}/device"))?,
            kind: at(schema, &format!("{path}/type"))?,
            object: at(schema, &format!("{path}/managed-object"))?,
            problem: at(schema, &format!("{path}/specific-problem"))?,
        })
    }

    pub fn leaves(&self, object: &Arc<str>, kind: AlarmKind, ids: bool) -> Vec<Node> {
        vec![
            Node::leaf(self.device, Value::text(DEVICE)),
            Node::leaf(self.kind, Value::text(type_name(kind, ids))),
            Node::leaf(self.object, Value::Text(object.clone())),
            Node::leaf(self.problem, Value::text("")),
        ]
    }
}

/// What the kind of an alarm is called. `ids`: of a pool of ids.
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
    }
}

/// How bad it is, and in words.
pub(super) fn wrong(kind: AlarmKind) -> (&'static str, &'static str) {
    match kind {
        AlarmKind::Exhausted | AlarmKind::OddExhausted | AlarmKind::EvenExhausted => {
            ("major", "Pool is empty")
        }
        AlarmKind::Low | AlarmKind::OddLow | AlarmKind::EvenLow => {
            ("major", "Pool is getting close to empty")
        }
        AlarmKind::Undelivered => ("critical", "Service could not be re-deployed"),
    }
}

/// The same, of one that may be over.
pub(super) fn severity(kind: AlarmKind, raised: bool) -> &'static str {
    if raised { wrong(kind).0 } else { CLEARED }
}

impl AlarmNodes {
    pub fn of(schema: &Schema) -> Result<AlarmNodes, String> {
        let top = "/allod-resource-pools:alarms";
        let list = |rest: &str| at(schema, &format!("{top}/alarm-list/{rest}"));
        Ok(AlarmNodes {
            top: at(schema, top)?,
            list: at(schema, &format!("{top}/alarm-list"))?,
            count: list("number-of-alarms")?,
            last_changed: list("last-changed")?,
            alarm: list("alarm")?,
            named: Named::of(schema, &format!("{top}/alarm-list/alarm"))?,
            cleared: list("alarm/is-cleared")?,
            changed_at: list("alarm/last-status-change")?,
            severity: list("alarm/last-perceived-severity")?,
            text: list("alarm/last-alarm-text")?,
            change: list("alarm/status-change")?,
            change_at: list("alarm/status-change/event-time")?,
            change_severity: list("alarm/status-change/perceived-severity")?,
            change_text: list("alarm/status-change/alarm-text")?,
            purge: list("alarm/purge")?,
        })
    }

    /// What the steps name; nothing while there has never been an alarm.
    pub fn shown(&self, state: &State, steps: &[Step]) -> Option<Box<dyn Source>> {
        let (first, below) = steps.split_first()?;
        let alarms = state.alarms();
        if first.node != self.top || alarms.is_empty() {
            return None;
        }
        let last = alarms.values().map(|alarm| alarm.cleared_ms.unwrap_or(alarm.raised_ms)).max();
        let mut children = vec![Node::leaf(self.count, Value::Uint(alarms.len() as u64))];
        children.extend(last.map(|at_ms| Node::leaf(self.last_changed, shown_time(at_ms))));
        children.extend(alarms.values().map(|alarm| self.entry(alarm)));
        let list = Node::inner(self.list, children);
        select(vec![Node::inner(self.top, vec![list])], below)
    }

    fn entry(&self, alarm: &Alarm) -> Node {
        let (bad, text) = wrong(alarm.kind);
        let changed = alarm.cleared_ms.unwrap_or(alarm.raised_ms);
        let is_over = alarm.cleared_ms.is_some();
        let mut children = self.named.leaves(&alarm.object, alarm.kind, alarm.ids);
        children.extend([
            Node::leaf(self.cleared, Value::Bool(is_over)),
            Node::leaf(self.changed_at, shown_time(changed)),
            Node::leaf(self.severity, Value::text(severity(alarm.kind, !is_over))),
            Node::leaf(self.text, Value::text(text)),
            self.status_change(alarm.raised_ms, bad, text),
        ]);
        // Two changes at one time would be one entry: the later one counts.
        match alarm.cleared_ms {
            Some(at_ms) if at_ms == alarm.raised_ms => {
                children.pop();
                children.push(self.status_change(at_ms, CLEARED, text));
            }
            Some(at_ms) => children.push(self.status_change(at_ms, CLEARED, text)),
            None => {}
        }
        Node::inner(self.alarm, children)
    }

    fn status_change(&self, at_ms: u64, severity: &str, text: &str) -> Node {
        let leaves = vec![
            Node::leaf(self.change_at, shown_time(at_ms)),
            Node::leaf(self.change_severity, Value::text(severity)),
            Node::leaf(self.change_text, Value::text(text)),
        ];
        Node::inner(self.change, leaves)
    }

    /// The command that forgets the alarm that the target names.
    pub fn purged(&self, state: &State, target: &Target) -> Result<Command, Fault> {
        let step = target.steps.iter().find(|step| step.node == self.alarm);
        let keys = step.map_or(&[][..], |step| &step.keys);
        let alarm = state.alarms().values().find(|alarm| {
            let leaves = self.named.leaves(&alarm.object, alarm.kind, alarm.ids);
            leaves.iter().filter_map(Node::value).eq(keys)
        });
        let Some(alarm) = alarm else {
            return Err(Fault::application(Tag::DataMissing, "there is no such alarm"));
        };
        let (object, kind) = (alarm.object.clone(), alarm.kind);
        Ok(Command::Alarm(AlarmCommand::Purge { object, kind }))
    }
}

pub(super) fn shown_time(at_ms: u64) -> Value {
    Value::text(time::show(at_ms))
}
