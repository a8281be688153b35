//! Runs thousands of seeds, each twice. `ALLOD_SIM_SEED` selects one; the program `allod-sim` runs more.

const SEEDS: u64 = 2_000;
const STEPS: u32 = 60;

#[test]
fn every_seed_keeps_acknowledged_writes_and_is_reproducible() {
    let only = std::env::var("ALLOD_SIM_SEED").ok().and_then(|seed| seed.parse::<u64>().ok());
    let seeds = only.map_or(0..SEEDS, |seed| seed..seed + 1);
    let total = match allod_sim::run_many(seeds, STEPS) {
        Ok(total) => total,
        Err(failed) => panic!("{failed}"),
    };
    if only.is_some() {
        return;
    }
    // Check that the simulation exercises the engine.
    let sum = total.sum;
    assert!(sum.accepted > 50 * SEEDS, "{} commands were accepted", sum.accepted);
    assert!(sum.refused > 20 * SEEDS, "{} commands were refused", sum.refused);
    assert!(sum.failed > SEEDS, "{} commands failed", sum.failed);
    assert!(sum.forks > SEEDS / 10, "{} forks", sum.forks);
    assert!(sum.forks_seen > SEEDS / 20, "{} forks were seen", sum.forks_seen);
    assert!(sum.crashes > SEEDS, "{} crashes", sum.crashes);
    assert!(sum.checkpoints > SEEDS, "{} checkpoints", sum.checkpoints);
}
