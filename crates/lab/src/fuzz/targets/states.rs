//! Fuzz targets that read saved states.

use reticent::{
    bandit::{
        Aggregation, Anytime, Combiner, Episodes, JointLinUcb, Legacy, LinUcb, LocalParams,
        OnlineLinUcb, OnlineUcb, Server, ShuffleServer, Shuffler,
    },
    convex::{DoublingBandit, PrivateBandit},
    online::{BallLearner, GradientDescent, LinearModel, Maler, OnlineLearner},
    privacy::{Accountant, Event},
    randomize::{Gradient, Spent},
    release::{ContributionSums, PrivateSum},
    safe::{self, Agent, AgentReport, Coordinator},
    wire::{PYTHON_ACCOUNTANT, PYTHON_LINUCB, PYTHON_LOCAL_PLAN, pack, unpack},
};
use reticent_device::{Choice, Device, Ledger, Limits};

use super::Target;
use crate::{
    FastNoise,
    fuzz::samples::{self, PAIR, seeded, two_arms},
};

fn state(name: &'static str, seed: Vec<u8>, read: impl Fn(&[u8]) + 'static) -> Target {
    Target { name, seeds: vec![seed], sealed: true, read: Box::new(read) }
}

/// All of them.
pub(super) fn all() -> Vec<Target> {
    let mut all = vec![
        sum_state(),
        contribution_sums(),
        joint_state(),
        open_decisions(),
        legacy(),
        episodes(),
    ];
    all.push(state("linucb", samples::linucb().save(), |bytes| {
        if let Ok(mut learner) = LinUcb::load(bytes) {
            drop(learner.choose(&two_arms(), 0));
            drop(learner.observe(&[0.6, 0.8], 0.5));
            drop(learner.choose(&two_arms(), 0));
        }
    }));
    let learner = samples::linucb().save();
    all.push(state("python_linucb", pack(PYTHON_LINUCB, &1_u64, &[&learner]), |bytes| {
        if let Ok((_, [learner])) = unpack::<u64, 1>(PYTHON_LINUCB, bytes) {
            drop(LinUcb::load(&learner));
        }
    }));
    let events = pack(PYTHON_ACCOUNTANT, &samples::events(), &[]);
    all.push(state("python_accountant", events, |bytes| {
        if let Ok((events, [])) = unpack::<Vec<Event>, 0>(PYTHON_ACCOUNTANT, bytes) {
            let mut accountant = Accountant::new();
            drop(events.into_iter().try_for_each(|event| accountant.spend(event)));
        }
    }));
    let plan = pack(PYTHON_LOCAL_PLAN, &samples::local(), &[]);
    all.push(state("python_local_plan", plan, |bytes| {
        if let Ok((params, [])) = unpack::<LocalParams, 0>(PYTHON_LOCAL_PLAN, bytes) {
            drop(params.check());
        }
    }));
    all.extend(local_states());
    all.extend(online_states());
    all.extend(safe_states());
    all.extend(convex_states());
    all
}

fn sum_state() -> Target {
    state("private_sum", samples::private_sum(seeded()).save(), |bytes| {
        if let Ok(mut sum) = PrivateSum::<FastNoise>::resume(bytes, 0) {
            for _ in 0..4 {
                if let Ok(contribution) = sum.clip_with_reward(&[0.6, 0.8], 0.5) {
                    drop(sum.absorb(&contribution));
                }
                if let Ok(contribution) = sum.clip(&[0.6, 0.8]) {
                    drop(sum.absorb(&contribution));
                }
            }
            drop(sum.guarantee(1e-5));
            drop(sum.deviations(3));
            let _ = sum.until_release();
            drop(sum.tick(&mut ContributionSums::new(sum.clipper().clone())));
        }
    })
}

fn contribution_sums() -> Target {
    state("contribution_sums", samples::contribution_sums().save(), |bytes| {
        if let Ok(mut sums) = ContributionSums::load(bytes) {
            drop(sums.merge(&sums.clone()));
            drop(samples::private_sum(seeded()).tick(&mut sums));
        }
    })
}

fn joint_state() -> Target {
    state("joint", samples::joint(seeded()).save(), |bytes| {
        if let Ok(mut learner) = JointLinUcb::<FastNoise>::resume(bytes, 0) {
            for _ in 0..3 {
                if let Ok(decision) = learner.decide(&two_arms()) {
                    drop(learner.observe(decision.ticket, 0.5));
                }
            }
            drop(learner.close_before(1));
            drop(learner.guarantee());
            drop(learner.guarantee_of_both());
            drop(learner.legacy());
        }
    })
}

fn episodes() -> Target {
    state("episodes", samples::episodes(seeded()).save(), |bytes| {
        if let Ok(mut learner) = Episodes::<FastNoise>::resume(bytes, 0) {
            for _ in 0..3 {
                if let Ok(decision) = learner.decide() {
                    drop(learner.observe(decision.number, 0.5));
                }
            }
            let mut sums = learner.no_sums();
            drop(learner.contribute(&[1.0, 0.0], 0.5, &mut sums));
            drop(learner.tick(&mut sums));
            drop(learner.release());
            drop(learner.guarantee());
        }
    })
}

fn open_decisions() -> Target {
    state("open_decisions", samples::joint_with_open(seeded()).save_with_open(), |bytes| {
        if let Ok(mut learner) = JointLinUcb::<FastNoise>::resume(bytes, 0) {
            for _ in 0..4 {
                drop(learner.decide(&two_arms()));
            }
            drop(learner.close_before(9));
        }
    })
}

fn legacy() -> Target {
    state("joint_legacy", samples::legacy().save(), |bytes| {
        if let Ok(legacy) = Legacy::load(bytes) {
            let plan = samples::joint_params().check().expect("sound");
            if let Ok(mut learner) = plan.start_from(legacy, FastNoise::seeded(2)) {
                if let Ok(decision) = learner.decide(&two_arms()) {
                    drop(learner.observe(decision.ticket, 0.5));
                }
                drop(learner.guarantee());
                drop(learner.guarantee_of_both());
            }
        }
    })
}

fn local_states() -> Vec<Target> {
    let people = samples::local().check().expect("sound");
    let plan = samples::shuffled(Aggregation::Permute).check().expect("sound");
    let model = plan.server().publish().expect("a model");
    let waiting = samples::report(plan.local(), &model, 2);
    vec![
        state("local_server", samples::server().save(), |bytes| {
            if let Ok(mut server) = Server::load(bytes) {
                if let Ok(model) = server.publish() {
                    let plan = samples::local().check().expect("sound");
                    let mut person = plan.person(0, FastNoise::seeded(4)).expect("level 0");
                    if let Ok(report) = person.report(&model, &[0.6, 0.8], 0.5) {
                        drop(server.absorb(&report));
                    }
                }
                drop(server.publish());
            }
        }),
        state("ledger", samples::reported().1.save(), |bytes| {
            let (protocol, now) = (samples::protocol(), 1_700_000_000);
            if let Ok(ledger) = Ledger::load(bytes).and_then(|ledger| ledger.at(&protocol, now))
                && let Ok(mut device) = Device::new(protocol, Limits::of("home"), 0, seeded())
            {
                drop(device.report(&ledger, now, &samples::reported().0, 0.5));
            }
        }),
        state("choice", samples::reported().0.save(), |bytes| {
            let (protocol, now) = (samples::protocol(), 1_700_000_000);
            let ledger = Ledger::new(&protocol, now);
            if let Ok(choice) = Choice::load(bytes)
                && let Ok(mut device) = Device::new(protocol, Limits::of("home"), 0, seeded())
            {
                drop(device.report(&ledger, now, &choice, 0.5));
            }
        }),
        state("spent", samples::spent().save(), move |bytes| {
            if let Ok(spent) = Spent::load(bytes)
                && let Ok(person) = people.person_after(0, &spent, FastNoise::seeded(5))
            {
                drop(person.guarantee());
            }
        }),
        state("shuffle_server", plan.server().save(), |bytes| {
            if let Ok(mut server) = ShuffleServer::load(bytes) {
                drop(server.publish());
            }
        }),
        state("shuffler", samples::shuffler(seeded()).save(), move |bytes| {
            if let Ok(mut shuffler) = Shuffler::<FastNoise>::resume(bytes, 0) {
                drop(shuffler.absorb(&waiting));
                drop(shuffler.absorb(&waiting));
            }
        }),
    ]
}

fn online_states() -> Vec<Target> {
    vec![
        state("online_ucb", samples::online_ucb().save(), |bytes| {
            if let Ok(mut ucb) = OnlineUcb::load(bytes) {
                drop(ucb.policy().choose(&two_arms(), 0));
                drop(ucb.absorb(&PAIR));
                drop(ucb.policy().choose(&two_arms(), 1));
            }
        }),
        state("anytime", samples::anytime().save(), |bytes| {
            if let Ok(mut anytime) = Anytime::load(bytes) {
                drop(anytime.absorb(&PAIR));
                drop(anytime.policy().choose(&two_arms(), 0));
            }
        }),
        state("combiner", samples::combiner().save(), |bytes| {
            if let Ok(mut combiner) = Combiner::load(bytes) {
                drop(combiner.absorb(combiner.current(), &PAIR));
                drop(combiner.policy().choose(&two_arms(), 0));
            }
        }),
        state("online_linucb", samples::online_linucb().save(), |bytes| {
            if let Ok(mut open) = OnlineLinUcb::load(bytes) {
                drop(open.choose(&two_arms()));
                drop(open.observe(&[0.6, 0.8], 0.5));
            }
        }),
        state("online_learner", samples::online_learner().save(), |bytes| {
            if let Ok(mut learner) = OnlineLearner::load(bytes) {
                drop(learner.absorb(Gradient::from(&[0.1, -0.2])));
            }
        }),
        state("linear_model", samples::linear_model().save(), |bytes| {
            if let Ok(mut model) = LinearModel::load(bytes) {
                drop(model.observe(&[0.6, -0.8], 1.0));
            }
        }),
        state("maler", samples::maler().save(), |bytes| {
            drop(Maler::load(bytes).and_then(|mut learner| learner.absorb(&[0.1, -0.2])));
        }),
        state("gradient_descent", samples::gradient_descent().save(), |bytes| {
            drop(GradientDescent::load(bytes).and_then(|mut learner| learner.absorb(&[0.1, -0.2])));
        }),
    ]
}

fn safe_states() -> Vec<Target> {
    let (coordinator, agent, report) = samples::answered(seeded(), seeded());
    vec![
        state("agent", agent.save(), |bytes| {
            if let Ok(mut agent) = Agent::<FastNoise>::resume(bytes, 0) {
                drop(agent.report(safe::Ticket::first(), 0.1));
                drop(agent.guarantee_so_far());
            }
        }),
        state("coordinator", coordinator.save(), move |bytes| {
            if let Ok(mut coordinator) = Coordinator::<FastNoise>::resume(bytes, 0) {
                for _ in 0..2 {
                    if let Ok(decision) = coordinator.decide() {
                        let report = AgentReport { ticket: decision.ticket, ..report };
                        drop(coordinator.absorb(&report));
                    }
                }
            }
        }),
    ]
}

fn convex_states() -> Vec<Target> {
    vec![
        state("private_bandit", samples::private_bandit(seeded()).save(), |bytes| {
            if let Ok(mut bandit) =
                PrivateBandit::<_, FastNoise>::resume(bytes, 0, 0, samples::set())
            {
                for _ in 0..3 {
                    if let Ok(decision) = bandit.decide() {
                        drop(bandit.observe(decision.ticket, 0.5));
                    }
                }
            }
        }),
        state("doubling_bandit", samples::doubling_bandit(seeded()).save(), |bytes| {
            if let Ok(mut bandit) =
                DoublingBandit::<_, FastNoise>::resume(bytes, 0, 0, samples::set())
                && let Ok(decision) = bandit.decide()
            {
                drop(bandit.observe(decision.ticket, 0.5));
            }
        }),
    ]
}
