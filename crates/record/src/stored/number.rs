//! The stored numbers of the small enums of the core.
//!
//! A number is never reused. A new variant in the core needs a new version of each kind that stores it, so that a program
//! that does not know it does not report damage.

use serde::de::{Deserialize, Deserializer, Error};
use serde::ser::{Serialize, Serializer};

use allod_core::alarm::AlarmKind;
use allod_core::authority::{
    DriftPolicy, ExternalState, LookUpState, ReconciliationState, RefusalCode,
};
use allod_core::capacity::Reclaim;
use allod_core::claim::Parity;
use allod_core::event::ReleaseCause;
use allod_core::pool::Strategy;
use allod_core::requests::{Method, Redeploy};
use allod_core::value::Kind;

use super::form::StoredForm;
use crate::body::Cause;

/// A stored enum: a newtype around the core's, written as one byte.
macro_rules! numbered {
    ($stored:ident($plain:ident) { $($number:literal => $variant:ident),+ $(,)? }) => {
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        pub(crate) struct $stored(pub $plain);

        impl StoredForm<'_, $plain> for $stored {
            fn store(value: &$plain) -> $stored {
                $stored(*value)
            }

            fn load(self) -> $plain {
                self.0
            }
        }

        impl Serialize for $stored {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.serialize_u8(match self.0 {
                    $($plain::$variant => $number),+
                })
            }
        }

        impl<'de> Deserialize<'de> for $stored {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<$stored, D::Error> {
                match u8::deserialize(deserializer)? {
                    $($number => Ok($stored($plain::$variant)),)+
                    _ => Err(D::Error::custom("not a number of this enum")),
                }
            }
        }
    };
}

numbered!(KindV1(Kind) {
    0 => Id32,
    1 => Id64,
    2 => Address4,
    3 => Address6,
    4 => Prefix4,
    5 => Prefix6,
});

numbered!(StrategyV1(Strategy) {
    0 => Lowest,
    1 => Highest,
    2 => Next,
    3 => Random,
    4 => LeastRecentlyUsed,
});

numbered!(ReclaimV1(Reclaim) {
    0 => Reap,
    1 => Keep,
});

numbered!(ParityV1(Parity) {
    0 => Even,
    1 => Odd,
});

numbered!(RedeployV1(Redeploy) {
    0 => Default,
    1 => Touch,
    2 => Reactive,
    3 => Whole,
    4 => Never,
});

numbered!(MethodV1(Method) {
    0 => FirstFree,
    1 => RoundRobin,
});

numbered!(AlarmKindV1(AlarmKind) {
    0 => Exhausted,
    1 => Low,
    2 => OddExhausted,
    3 => EvenExhausted,
    4 => OddLow,
    5 => EvenLow,
    6 => Undelivered,
    // From here on only in version 2 of the kinds that store it.
    7 => Overdue,
    8 => Stuck,
    9 => Conflict,
    10 => Drifted,
});

numbered!(ExternalStateV1(ExternalState) {
    0 => Wanted,
    1 => Held,
    2 => Refused,
    3 => Stuck,
    4 => Conflict,
    5 => Releasing,
});

numbered!(RefusalCodeV1(RefusalCode) {
    0 => Taken,
    1 => Exhausted,
    2 => Differs,
});

numbered!(DriftPolicyV1(DriftPolicy) {
    0 => Pin,
    1 => Follow,
    2 => Ask,
});

numbered!(LookUpStateV1(LookUpState) {
    0 => Wanted,
    1 => Resolved,
    2 => Drifted,
    3 => Unknown,
});

numbered!(ReconciliationStateV1(ReconciliationState) {
    0 => Wanted,
    1 => Done,
    2 => Failed,
});

numbered!(ReleaseCauseV1(ReleaseCause) {
    0 => Asked,
    1 => Taken,
    2 => Reaped,
});

numbered!(CauseV1(Cause) {
    0 => PutPool,
    1 => DeletePool,
    2 => Transact,
    3 => Tick,
    // Level 3. Only in entries whose events need that level anyway.
    4 => Capacity,
    // Level 4: entries with it need that level.
    5 => Blocks,
    // Level 5: entries with it need that level.
    6 => Requests,
    // Level 7: entries with it need that level.
    7 => Authority,
});

#[cfg(test)]
mod tests {
    use super::*;

    /// The stored numbers of `all`, after a round trip.
    fn numbers<T>(all: &[T]) -> Vec<u8>
    where
        T: Serialize + for<'de> Deserialize<'de> + PartialEq + std::fmt::Debug,
    {
        let bytes = all.iter().map(|value| postcard::to_allocvec(value).unwrap());
        bytes
            .zip(all)
            .map(|(bytes, value)| {
                assert_eq!(&postcard::from_bytes::<T>(&bytes).unwrap(), value);
                assert_eq!(bytes.len(), 1);
                bytes[0]
            })
            .collect()
    }

    #[test]
    fn the_numbers_never_change() {
        assert_eq!(numbers(&Kind::ALL.map(KindV1)), [0, 1, 2, 3, 4, 5]);
        assert_eq!(numbers(&Strategy::ALL.map(StrategyV1)), [0, 1, 2, 3, 4]);
        assert_eq!(numbers(&[Parity::Even, Parity::Odd].map(ParityV1)), [0, 1]);
        let causes = [ReleaseCause::Asked, ReleaseCause::Taken, ReleaseCause::Reaped];
        assert_eq!(numbers(&causes.map(ReleaseCauseV1)), [0, 1, 2]);
        let causes = [Cause::PutPool, Cause::DeletePool, Cause::Transact, Cause::Tick];
        assert_eq!(numbers(&causes.map(CauseV1)), [0, 1, 2, 3]);
    }

    #[test]
    fn unknown_number_is_rejected() {
        assert!(postcard::from_bytes::<StrategyV1>(&[5]).is_err());
        assert!(postcard::from_bytes::<KindV1>(&[6]).is_err());
    }
}
