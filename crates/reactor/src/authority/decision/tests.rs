//! Tables of the decisions about claims at authorities.

use super::*;

const BY_REFERENCE: Finds = Finds::ByReference;
const BY_VALUE: Finds = Finds::ByValue;
const NOT: Finds = Finds::No;

fn abilities(finds: Finds, repeats: bool) -> Abilities {
    Abilities { finds, list: false, lookup: false, repeats, parallel: None }
}

fn situation(state: ExternalState, finds: Finds, repeats: bool) -> Situation {
    Situation {
        state,
        asked: false,
        knows_value: false,
        earlier: Earlier::None,
        abilities: abilities(finds, repeats),
        tried: false,
    }
}

fn shown(step: NextStep) -> String {
    match step {
        NextStep::Wait => "wait".into(),
        NextStep::Call(Call::StoreAsked) => "store asked".into(),
        NextStep::Call(call) => format!("{call:?}").to_lowercase(),
        NextStep::Report(Conclusion::Failed { asked, settle }) => {
            let asked = if asked { "failed, asked" } else { "failed" };
            if settle { format!("{asked}, settle") } else { asked.into() }
        }
        NextStep::Report(other) => format!("report {other:?}").to_lowercase(),
    }
}

#[test]
fn a_grant_begins_with_what_is_safe() {
    use Earlier::{Ended, None, Possible};
    // Finds, repeats, asked, knows the value, earlier requests, and the first step.
    let table = [
        (BY_REFERENCE, true, false, false, None, "grant"),
        (BY_REFERENCE, true, true, false, None, "find"),
        (BY_REFERENCE, true, false, false, Possible, "find"),
        (BY_REFERENCE, true, false, false, Ended, "find"),
        (BY_VALUE, true, true, true, Possible, "grant"),
        (NOT, true, true, false, Possible, "grant"),
        (BY_REFERENCE, false, false, false, None, "store asked"),
        (BY_REFERENCE, false, true, false, Possible, "wait"),
        (BY_REFERENCE, false, true, false, Ended, "find"),
        (BY_VALUE, false, false, true, None, "store asked"),
        (BY_VALUE, false, true, true, Possible, "wait"),
        (BY_VALUE, false, true, true, Ended, "find"),
        (BY_VALUE, false, true, false, Ended, "report stuck"),
        (NOT, false, false, false, None, "store asked"),
        (NOT, false, true, true, Possible, "wait"),
        (NOT, false, true, true, Ended, "report stuck"),
    ];
    for (finds, repeats, asked, knows_value, earlier, wanted) in table {
        let base = situation(ExternalState::Wanted, finds, repeats);
        let case = Situation { asked, knows_value, earlier, ..base };
        assert_eq!(shown(next_step(&case, Option::None)), wanted, "{case:?}");
    }
}

#[test]
fn the_outcome_of_a_grant_decides_what_follows() {
    use CallOutcome::{Granted, No, NotNow, Unknown, Unsupported, Working};
    // Finds, repeats, knows the value, a request may still arrive, outcome, and the next step.
    let table = [
        (BY_REFERENCE, true, false, false, Granted, "report granted"),
        (BY_REFERENCE, true, false, false, No, "report refused"),
        (BY_REFERENCE, true, false, true, No, "failed, asked, settle"),
        (BY_REFERENCE, true, false, false, Unsupported, "report refused"),
        (BY_REFERENCE, true, false, false, NotNow, "failed"),
        (BY_REFERENCE, true, false, true, NotNow, "failed, asked"),
        (BY_REFERENCE, true, false, false, Working, "failed, asked"),
        (BY_REFERENCE, true, false, false, Unknown, "find"),
        (NOT, true, false, false, Unknown, "failed, asked"),
        (BY_REFERENCE, false, false, false, Unknown, "failed, asked, settle"),
        (BY_REFERENCE, false, false, false, NotNow, "failed"),
        (BY_VALUE, false, true, false, Unknown, "failed, asked, settle"),
        (BY_VALUE, false, false, false, Unknown, "report stuck"),
        (NOT, false, true, false, Unknown, "report stuck"),
        (NOT, false, false, false, Granted, "report granted"),
        (NOT, false, false, false, No, "report refused"),
        (NOT, false, false, false, NotNow, "failed"),
    ];
    for (finds, repeats, knows_value, is_pending, outcome, wanted) in table {
        let base = situation(ExternalState::Wanted, finds, repeats);
        let earlier = if is_pending { Earlier::Possible } else { Earlier::Ended };
        let case = Situation { knows_value, earlier, tried: true, asked: !repeats, ..base };
        let step = next_step(&case, Some((Call::Grant, outcome)));
        assert_eq!(shown(step), wanted, "{case:?} {outcome:?}");
    }
}

#[test]
fn a_search_is_final_only_if_nothing_can_still_arrive() {
    use CallOutcome::{Granted, No, NotNow, Nothing, Unknown, Unsupported, Working};
    // Finds, repeats, a grant was requested in this attempt, outcome, and the next step.
    let table = [
        (BY_REFERENCE, true, false, Granted, "report granted"),
        (BY_REFERENCE, true, true, Granted, "report granted"),
        (BY_REFERENCE, true, false, Nothing, "grant"),
        (BY_REFERENCE, true, true, Nothing, "failed, asked"),
        (BY_REFERENCE, true, false, Unsupported, "grant"),
        (BY_REFERENCE, true, true, Unsupported, "failed, asked"),
        (BY_REFERENCE, true, false, Unknown, "failed, asked"),
        (BY_REFERENCE, true, false, NotNow, "failed, asked"),
        (BY_REFERENCE, true, false, Working, "failed, asked"),
        (BY_REFERENCE, true, false, No, "failed, asked"),
        (BY_REFERENCE, false, false, Granted, "report granted"),
        (BY_REFERENCE, false, false, Nothing, "store asked"),
        (BY_REFERENCE, false, false, Unknown, "failed, asked"),
        (BY_REFERENCE, false, false, Unsupported, "report stuck"),
        (BY_VALUE, false, false, Granted, "report stuck"),
        (BY_VALUE, false, false, Nothing, "store asked"),
    ];
    for (finds, repeats, tried, outcome, wanted) in table {
        let base = situation(ExternalState::Wanted, finds, repeats);
        let case =
            Situation { knows_value: true, asked: true, earlier: Earlier::Ended, tried, ..base };
        let step = next_step(&case, Some((Call::Find, outcome)));
        assert_eq!(shown(step), wanted, "{case:?} {outcome:?}");
    }
    let case = situation(ExternalState::Wanted, NOT, false);
    assert_eq!(shown(next_step(&case, Some((Call::StoreAsked, CallOutcome::Stored)))), "grant");
}

#[test]
fn a_release_is_repeated_until_the_authority_confirms_it() {
    use Earlier::{Ended, None, Possible};
    // Finds, repeats, asked, knows the value, earlier requests, and the first step.
    let table = [
        (BY_REFERENCE, true, false, true, None, "release"),
        (BY_REFERENCE, true, false, false, None, "release"),
        (BY_REFERENCE, true, true, false, Possible, "wait"),
        (BY_REFERENCE, true, false, true, Possible, "wait"),
        (BY_REFERENCE, true, true, false, Ended, "release"),
        (NOT, true, true, false, Ended, "release"),
        (BY_REFERENCE, false, true, false, Ended, "release"),
        (BY_VALUE, false, true, true, None, "release"),
        (BY_VALUE, false, false, false, None, "report gone"),
        (BY_VALUE, false, true, false, Possible, "wait"),
        (BY_VALUE, false, true, false, Ended, "report stuck"),
        (NOT, false, false, false, Possible, "report gone"),
    ];
    for (finds, repeats, asked, knows_value, earlier, wanted) in table {
        let base = situation(ExternalState::Releasing, finds, repeats);
        let case = Situation { asked, knows_value, earlier, ..base };
        assert_eq!(shown(next_step(&case, Option::None)), wanted, "{case:?}");
    }
    use CallOutcome::{No, NotNow, Nothing, Unknown, Unsupported, Working};
    for (outcome, wanted) in [
        (Nothing, "report gone"),
        (No, "failed"),
        (NotNow, "failed"),
        (Working, "failed"),
        (Unknown, "failed"),
        (Unsupported, "failed"),
    ] {
        let case = situation(ExternalState::Releasing, BY_REFERENCE, true);
        assert_eq!(shown(next_step(&case, Some((Call::Release, outcome)))), wanted);
    }
}

#[test]
fn a_value_of_two_claims_goes_to_the_new_one_only_if_the_old_one_is_gone() {
    use CallOutcome::{Granted, NotNow, Nothing, Unknown};
    let table = [
        (BY_REFERENCE, None, HolderStep::Find),
        (BY_REFERENCE, Some(Nothing), HolderStep::Gone),
        (BY_REFERENCE, Some(Granted), HolderStep::StillHeld),
        (BY_REFERENCE, Some(Unknown), HolderStep::Failed),
        (BY_REFERENCE, Some(NotNow), HolderStep::Failed),
        (BY_VALUE, None, HolderStep::Gone),
        (NOT, None, HolderStep::Gone),
    ];
    for (finds, found, wanted) in table {
        assert_eq!(holder_step(finds, found), wanted, "{finds:?} {found:?}");
    }
}

#[test]
fn delays_double_up_to_a_maximum() {
    let delays: Vec<u64> = (0..5).map(|attempts| retry_after_ms(100, 500, attempts)).collect();
    assert_eq!(delays, [100, 200, 400, 500, 500]);
    assert_eq!(retry_after_ms(100, 500, u32::MAX), 500);
}
