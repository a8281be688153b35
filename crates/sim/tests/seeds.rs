//! Thousands of seeds, each run twice. `ALLOD_SIM_SEED` runs one alone; more of them run through the program.

const SEEDS: u64 = 2_000;
const STEPS: u32 = 60;

#[test]
fn every_seed_keeps_what_it_acknowledged_and_goes_the_same_way_twice() {
    let only = std::env::var("ALLOD_SIM_SEED").ok().and_then(|seed| seed.parse::<u64>().ok());
    let seeds = only.map_or(0..SEEDS, |seed| seed..seed + 1);
    let total = match allod_sim::run_many(seeds, STEPS) {
        Ok(total) => total,
        Err(failed) => panic!("{failed}"),
    };
    if only.is_some() {
        return;
    }
    // A simulation in which nothing happens proves nothing.
    let sum = total.sum;
    assert!(sum.accepted > 50 * SEEDS, "{} commands were accepted", sum.accepted);
    assert!(sum.refused > 20 * SEEDS, "{} commands were refused", sum.refused);
    assert!(sum.failed > SEEDS, "{} commands failed", sum.failed);
    assert!(sum.forks > SEEDS / 10, "{} forks", sum.forks);
    assert!(sum.forks_seen > SEEDS / 20, "{} forks were met", sum.forks_seen);
    assert!(sum.crashes > SEEDS, "{} crashes", sum.crashes);
    assert!(sum.checkpoints > SEEDS, "{} checkpoints", sum.checkpoints);
}
